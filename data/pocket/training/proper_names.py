"""Word lists for names: given and family names, cities, countries. Half of the world's names are invented, half from here.

Some of these are answers of evaluated questions too; no fact of the training world has to do with them.
"""

from __future__ import annotations

# fmt: off
GIVEN = """Ada Adam Agnes Akira Alan Albert Alexander Alfred Alice Amelia Anders Andrea Andrew Anna Anton Antonio Arthur August
Axel Beatrice Benjamin Bernard Bertha Boris Bruno Carl Carlos Carmen Caroline Catherine Cecilia Charles Christian Clara Claude
Clement Conrad Daniel David Diego Dmitri Dorothy Edgar Edith Edmund Edward Eleanor Elena Elias Elizabeth Emil Emily Emma Enrico
Erik Ernest Esther Eugene Eva Felix Fernando Florence Francis Frank Franz Frederick Friedrich Fritz Gabriel George Gerald
Giovanni Giuseppe Grace Gregor Guido Gustav Hannah Hans Harold Harriet Harry Hector Heinrich Helen Henri Henry Herbert Hiroshi Hugo
Ida Igor Ilse Ingrid Irene Isaac Isabel Ivan Jacob Jacques James Jan Jane Janos Jean Johan Johann John Jonas Jorge Joseph Juan
Judith Julia Julius Karl Katherine Kenji Konrad Lars Laura Laszlo Leo Leon Leonard Leopold Lewis Lila Louis Louise Lucia Ludwig
Luis Magnus Manuel Marcel Margaret Maria Marie Mario Martha Martin Mary Matthew Max Michael Miguel Mikhail Miriam Mohammed Moritz
Nadia Natalia Nicholas Niels Nikolai Nora Olga Oliver Olof Oscar Otto Pablo Patrick Paul Pavel Pedro Peter Philip Pierre Rachel
Ralph Ravi Raymond Rene Richard Robert Roger Rosa Rudolf Ruth Samuel Sergei Sigrid Simon Sofia Stefan Stella Stephen Sven Sylvia
Tadeusz Theodor Theresa Thomas Tomas Toshiro Ulrich Ursula Valentin Vera Victor Viktor Vincent Virginia Vladimir Walter Werner
Wilhelm William Yuri Yusuf Zoltan""".split()

FAMILY = """Abel Acosta Adler Ahmed Aldrin Almeida Andersen Anderson Arnold Bailey Baker Banerjee Barnes Becker Bell Bennett Berg
Bergman Bernstein Blake Blum Bohm Borg Boyle Brandt Braun Brown Burke Byrne Campbell Cardoso Carlsson Carter Castro Chandra Chen
Clarke Cohen Collins Cooper Costa Crane Cruz Curtis Dalton Davies Delgado Dietrich Dixon Drake Duarte Dubois Duncan Dvorak Eckert
Edwards Ekman Elliott Engel Eriksson Evans Falk Farrell Fernandes Ferrari Fischer Fleming Fletcher Fontaine Foster Fournier Franck
Fraser Fuchs Fujita Garcia Gardner Garnier Gibson Gordon Graham Grant Greene Griffin Haas Hahn Hall Hamilton Hansen Harper Harris
Hartmann Hayes Heller Henderson Herrera Hoffmann Holm Horvath Howard Hughes Hunter Ibrahim Ito Ivanov Jackson Janssen Jensen
Johansson Johnson Jones Jung Kaiser Kaplan Kato Keller Kelly Kennedy Khan Klein Koch Kovacs Kowalski Kraus Kuznetsov Lambert Lang
Larsen Laurent Lehmann Lenz Leroy Lind Lindgren Lopez Lorenz Lund Lynch Macdonald Malik Mancini Marsh Martinez Mason Mayer Medina
Mendes Meyer Miller Mitchell Moller Moore Morales Moreau Moretti Morgan Morris Muller Murphy Murray Nakamura Navarro Nelson
Neumann Newton Nielsen Novak Nowak Nyberg Olsen Ortega Palmer Park Parker Patel Pereira Perez Petrov Peters Phillips Popov
Porter Price Quinn Ramirez Reed Reid Reyes Ricci Richter Rivera Roberts Robinson Rojas Romano Rossi Roth Rousseau Russo Ryan Saito
Salazar Sanchez Santos Sato Schmidt Schneider Schubert Schulz Serrano Shaw Silva Simmons Singh Smith Sokolov Spencer Stein
Steiner Stewart Stone Strand Strauss Sullivan Suzuki Svensson Tanaka Taylor Thompson Thomsen Torres Tucker Turner Ullman Vargas
Vasquez Vidal Vogel Volkov Wagner Walker Wallace Walsh Ward Watson Weber Weiss Wells West White Williams Wilson Winter Wolf Wood
Wright Yamamoto Young Zimmermann""".split()

CITIES = """Aachen Aarhus Aberdeen Accra Adelaide Alexandria Algiers Amsterdam Ankara Antwerp Athens Atlanta Auckland Avignon
Baghdad Baku Bangkok Barcelona Basel Beijing Beirut Belfast Belgrade Bergen Berlin Bern Bilbao Birmingham Bogota Bologna Bombay
Bonn Bordeaux Boston Bratislava Bremen Brisbane Bristol Bruges Brussels Bucharest Budapest Cairo Calcutta Cambridge Canberra
Caracas Cardiff Chennai Chicago Cleveland Cologne Copenhagen Cork Cracow Dakar Damascus Delft Delhi Denver Detroit Dhaka Dresden
Dublin Dundee Durban Edinburgh Essen Exeter Ferrara Florence Frankfurt Freiburg Gdansk Geneva Genoa Ghent Glasgow Gothenburg
Granada Graz Grenoble Haifa Halifax Hamburg Hanover Harare Havana Heidelberg Helsinki Hiroshima Honolulu Houston Innsbruck
Istanbul Jakarta Jerusalem Johannesburg Karachi Kiel Kingston Kyiv Kyoto Lagos Lahore Lausanne Leeds Leiden Leipzig Lille Lima
Limerick Linz Lisbon Liverpool London Lucerne Lyon Maastricht Madrid Mainz Manchester Manila Mannheim Marrakesh Marseille Melbourne
Memphis Miami Milan Minneapolis Minsk Modena Montevideo Montreal Moscow Mumbai Munich Nairobi Nantes Naples Nashville Nicosia
Nottingham Nuremberg Odessa Osaka Oslo Ottawa Oxford Padua Palermo Paris Perth Philadelphia Pisa Pittsburgh Porto Potsdam Prague
Pretoria Quebec Quito Ravenna Reykjavik Riga Rotterdam Rouen Salzburg Santiago Sarajevo Seattle Seoul Seville Shanghai Sheffield
Siena Singapore Sofia Split Stockholm Strasbourg Stuttgart Sydney Tallinn Tampere Tehran Tokyo Toledo Toronto Toulouse Trieste
Trondheim Tunis Turin Turku Uppsala Utrecht Valencia Vancouver Venice Verona Vienna Vilnius Warsaw Washington Weimar Wellington
Winnipeg York Zagreb Zurich""".split()

CITY_HEADS = ("San", "Santa", "Saint", "New", "Fort", "Port", "Porto", "El", "La", "Los", "Bad", "Rio", "Cape", "Old", "St.", "Mount", "Abu")
CITY_TAILS = ("City", "Bay", "Beach", "Falls", "Harbour", "on Sea", "de la Sierra", "Town", "Springs")

COUNTRIES = """Albania Algeria Argentina Australia Austria Bavaria Belgium Bolivia Brazil Britain Bulgaria Canada Chile China Colombia
Croatia Cuba Denmark Egypt England Ethiopia Finland France Georgia Germany Ghana Greece Hungary Iceland India Indonesia Iran Iraq
Ireland Italy Jamaica Japan Kenya Korea Lebanon Mexico Mongolia Morocco Nepal Norway Pakistan Peru Persia Poland Portugal Prussia
Romania Russia Scotland Serbia Siberia Sicily Spain Sweden Switzerland Syria Thailand Turkey Tuscany Ukraine Venezuela Vietnam
Wales""".split()

NATIONS = """American Argentine Australian Austrian Belgian Brazilian British Canadian Chinese Czech Danish Dutch Egyptian English
Finnish French German Greek Hungarian Indian Irish Italian Japanese Mexican Norwegian Persian Polish Portuguese Roman Russian
Scottish Spanish Swedish Swiss Turkish Welsh""".split()
