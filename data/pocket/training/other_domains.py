"""Sentence patterns of the training world beside its events: records, counts, doses, names and cities. No logic.

Slots as in `words`, and {y} the answer, {u} its unit as asked and {U} as stated, {e} a contest, {q} a country,
{N} a nationality, {f} a family name, {yr} a year, {g} a medicine. None is taken from an evaluated question's passage.
"""

from __future__ import annotations

from dataclasses import dataclass

# fmt: off


@dataclass(frozen=True, slots=True)
class Family:
    """Questions of one kind: subjects, (question, its verb phrase, if any), sentences that state the answer."""

    domain: str
    values: str  # which maker of answers (`values.VALUES`)
    subjects: tuple[str, ...]
    questions: tuple[str, ...]
    statements: tuple[str, ...]
    units: tuple[tuple[str, str], ...] = (("", ""),)
    verbs: tuple[tuple[str, str], ...] = (("", ""),)  # active, passive


def same(*units: str) -> tuple[tuple[str, str], ...]:
    return tuple((unit, unit) for unit in units)


SPORTS = ("the runner {p}", "the swimmer {p}", "{p}", "{p}", "the skater {p}", "the {n} eight", "the jockey {p}", "the pitcher {p}",
          "the wrestler {p}", "the {N} skier {p}", "the boxer {p}", "the {n} Rovers", "the cyclist {p}", "the batsman {p}")
HE = ("{S} won {y} {U}, {k} of them in {t}.", "He ended with {y} {U}.", "In all {s} won {y} {U}.", "She took {y} {U} at {e}.",
      "Between {m} {yr} and {m} {yr} he won {y} {U} in a row.", "{S} {vb} the {w} and won {y} {U}.", "{y} {U} were the {w} of {s}.",
      "It brought the total to {y} {U}, far ahead of {p}.", "{S}, a {j} from {t}, won {y} {U} in {Kk} seasons.",
      "With {y} {U} {s} left {e}.", "At {e} {s} reached {y} {U}.", "He took home {y} {U} in all.", "The record stood at {y} {U}.",
      "The {w} ended with {y} {U}, and the {ws} {vb}.", "No {j} before had {vb} {y} {U}.", "In {k} seasons {s} made {y} {U} for {t}.")
MEASURED = ("At {e} {s} reached {y} {U}.", "The {w} was measured at {y} {U}.", "{S} {vb} {y} {U} and {vb} the {w}.",
            "In {t} in {m} {yr} {s} cleared {y} {U}.", "The third attempt, of {y} {U}, {vb} the {w}.", "It ended with a {w} of {y} {U}.",
            "{S}, already sure of the {w}, had it put at {y} {U}.", "The {ws} of {t} saw {y} {U}.", "{y} {U} was the mark at {e}.",
            "Later in the same {w} she came to {y} {U}.", "With a {w} of {y} {U} {s} {vb} {p}.", "The mark stood at {y} {U} after {k} years.")
DEAD = ("In all {y} {U} {v}.", "{y} {U} {v} at {s}.", "Of the {y} {U} who {v} most came from {t}.", "It cost the lives of {y} {U}.",
        "{S} killed {y} {U}, among them {Kk} {ws}.", "There were {y} {U} on board, and none {vb}.", "As a result {y} {U} {v}.",
        "The {w} {vb}, and {y} {U} {v}.", "Under the {w} {y} {U} {v}.", "None of the {y} {U} survived.", "{y} {U} {v}; the {ws} {vb}.",
        "The {w} of {s} ran down to {t} and killed {y} {U}.", "Among the {y} {U} who {v} was {p}.", "It took days to count the dead, {y} {U}.")
COUNTED = ("{S} has {y} {U}.", "It has {y} {U}, more than any other in {q}.", "{S} began with {y} {U}.", "There are {y} {U} in {s}.",
           "{y} {U} lead through the {w}.", "At {s} {y} {U} were counted.", "The {w} of {s} holds {y} {U}.", "It caught {y} {U}.",
           "With {y} {U} {s} {vb} the {w}.", "All {y} {U} {vb}.", "Only {y} {U} came.", "From {y} {U} the {w} was {vb}.",
           "{S} {vb} {y} {U} in one {w}.", "The builders gave {s} {y} {U}.", "In this way {s} {vb} {y} {U}.")
DOSES = ("The WHO has fixed the daily dose at {y} {U}.", "Its defined daily dose is {y} {U}.", "The WHO list counts {y} {U} a day.",
         "One daily dose of {s} equals {y} {U}.", "Adults take {y} {U} per day.", "The {w} begins with {y} {U}.",
         "For statistics {y} {U} makes a day.", "{S} is given at {y} {U}.", "In the WHO index {s} comes to {y} {U}.",
         "It amounts to {y} {U}.", "The patient receives {y} {U} of {s}.", "{y} {U} a day is the figure used by the WHO.",
         "According to the WHO, {y} {U} is a day's supply.", "A single {w} of {y} {U} is taken at dusk.", "{y} {U} is injected to begin with.",
         "The WHO counts {s}, a {a} {w}, with {y} {U}.", "Its {w}, {y} {U}, matches no {a} tablet.", "Counting both, one arrives at {y} {U} a day.")
MADE_BY = ("{y} {v} {s}.", "{S} was {V} by {y}.", "It was {y}, a {j} from {t}, who {v} {s}.", "In {yr} {y} {v} it.", "{y} {vb} the {w} of {t}.",
           "For {s} {y} {vb} the {a} {w}.", "In the {w} of {t} {y} {v} it.", "The {j} was {y}, who {vb} the {ws}.", "{y}, the {j}, {vb} the {w}.",
           "It took {y} {k} years.", "Under {y} the {w} {vb}.", "During the {w} {y} {v} it to {vb} the {ws}.", "{y} never {vb} the {w} again.",
           "As {y} {vb} it, the {w} has {Kk} {ws}.", "{S}, by {y}, {vb} the {w}.", "The {w} drove {y} from {t}.", "With the {w} {y} {vb} the {ws}.",
           "{y} earned nothing by it.", "Night after night {y} {vb} the {ws}.", "{y}, who came from {q}, {vb} the {w}.", "The {w} of {y} {vb} the {ws}.")
PLACED = ("{S} stands in {y}.", "{S} has been in {y} since the {w} {vb}.", "It lies in {y}, by the {w}.", "The {ws} of {y} {vb} the {w}.",
          "{y} {vb} it before the {ws} {vb}.", "From {y} {s} {vb} the {w}.", "The {w} of {y} {vb} the {ws}.", "{y} has kept the {w}.",
          "Today it is a {w} in {y}, with a {a} {w}.", "They {vb} from the {w} of {y} to the {a} {w}.", "{y}, a {w} in {q}, {vb} the {w}.",
          "Its {w}, in {y}, is {a}.", "The {N} government picked {y}, which {vb} the {w}.", "{y} lies at its foot.", "The {w} went to {y}.",
          "In {y} the {ws} {vb} the {a} {w}.", "The {w} in {y} has {Kk} {ws}.", "Long after, {y} {vb} the {w}.", "{y} sells {ws} to this day.",
          "One sees the {ws} of {y} and the {w}.", "It has its rooms in {y}, far from any {w}.", "The {a} {w} of {y} {vb} {s}.")

FAMILIES = (
    Family("records", "count", SPORTS, (
        "How many {u} did {s} win?", "How many {u} did {s} win in a row?", "How many {u} did {s} win at {e}?", "How many {u} did {s} take?",
        "How many {u} did {s} win in {yr}?", "How many consecutive {u} did {s} win?", "How many {u} did {s} score at {e}?",
        "How many {u} did {s} have in all?", "How many {u} did {s} make for {t}?", "In how many {u} did {s} play?"),
        HE, same("titles", "games", "goals", "runs", "points", "wickets", "gold medals", "medals", "races", "bouts", "home runs", "wins", "matches",
                 "contests", "tournaments", "caps", "tries", "laps", "victories", "frames", "singles titles", "pole positions")),
    Family("records", "measure", SPORTS, (
        "How far, in {u}, did {s} throw at {e}?", "How far, in {u}, did {s} jump in {t} in {m} {yr}?", "How many {u} did {s} lift at {e}?",
        "How many {u} did {s} ride in one hour at {t}?", "In how many {u} did {s} run at {e}?", "What height, in {u}, did {s} clear at {e}?",
        "What average, in {u}, did {s} achieve at {e}?"),
        MEASURED, same("metres", "metres", "kilometres", "kilograms", "seconds", "points", "minutes", "runs")),
    Family("news", "count", ("the {n} disaster", "the sinking of the {n}", "the crash of {n} Flight {k}", "the {n} mine explosion", "the fire of {n}",
                             "the {n} avalanche", "the {n} dam collapse", "the collision near {n}", "the {n} earthquake", "the {n} rail crash"), (
        "How many {u} died in {s}?", "How many {u} were killed in {s}?", "How many {u} were killed by {s}?", "How many {u} lost their lives in {s}?",
        "How many {u} were killed in {s} in {m} {yr}?", "How many {u} died as a result of {s}?", "How many {u} survived {s}?"),
        DEAD, (*same("people", "people", "people", "people", "people"), *same("men", "miners", "workers", "passengers", "soldiers", "children", "firefighters")),
        (("died", ""), ("were killed", ""), ("lost their lives", ""), ("were dead", ""))),
    Family("news", "count", ("the {n} Tower", "the {n} Bridge", "the {n} Assembly", "the {n} Hotel", "the tower of {n}", "the {n} League", "the ferry {n}",
                             "the {n} parade", "the {n} Company", "the vote at {n}", "the {n} Library", "the town of {n}"), (
        "How many {u} does {s} have?", "How many {u} are there in {s}?", "How many {u} were members of {s}?", "How many {u} {vb} {s}?",
        "How many {u} were on board {s}?", "How many {u} were counted at {s}?", "How many {u} lead to the top of {s}?", "How many {u} took part in {s}?"),
        COUNTED, same("floors", "steps", "states", "countries", "houses", "towns", "wires", "observers", "vehicles", "rooms", "windows", "ships", "members",
                      "delegates", "books", "people", "bells", "trees", "stones", "sailors")),
    Family("drugs", "dose", ("{g}", "{g}", "{g}", "{g} taken by mouth"), (
        "What is the WHO defined daily dose of {s} in {u}?", "What is the WHO defined daily dose of {s} in {u}?",
        "How many {u} is the WHO defined daily dose of {s}?", "What defined daily dose, in {u}, does the WHO assign to {s}?",
        "What is the defined daily dose of {s} in {u}?", "How many {u} of {s} are taken per day?", "What dose of {s}, in {u}, is given before a {w}?",
        "What is the loading dose of {s} in {u}?", "How many {u} is the usual adult dose of {s}?", "What single dose of {s}, in {u}, is given?"),
        DOSES, (*(("milligrams", "mg"),) * 7, ("grams", "g"), ("grams", "g"), ("micrograms", "micrograms"), ("units", "units"), ("millimoles", "mmol"),
                ("milligrams per kilogram", "mg per kilogram"), ("micrograms per kilogram", "micrograms per kilogram"), ("percent", "percent"),
                ("drops", "drops"), ("millilitres", "ml"), ("tablets", "tablets"))),
    Family("names", "person", ("the {n} Bridge", "the novel The {a} {w}", "the statue of {p}", "the opera {n}", "the {n} Theatre", "the {a} {w}", "the {w} of {n}",
                               "the {n} Society", "the language {n}", "the game {n}", "the {n} {w}", "Mount {n}", "the town hall of {n}", "comet {n}",
                               "the {n} Symphony", "the covered {w} at {n}", "the {N} national anthem", "the cause of {n} fever", "the planet {n}"), (
        "Who {v} {s}?", "Who {v} {s}?", "Who {v} {s}?", "Which {j} {v} {s}?", "Which {N} {j} {v} {s}?", "Who was the first {j} of {s}?",
        "Who was the {j} of {s}?", "Who first {v} {s}?", "Who {v} {s} in {t}?", "Which {j} from {t} {v} {s}?"),
        MADE_BY, verbs=(("wrote", "written"), ("designed", "designed"), ("painted", "painted"), ("composed", "composed"), ("invented", "invented"),
                        ("discovered", "discovered"), ("founded", "founded"), ("created", "created"), ("built", "built"), ("made", "made"),
                        ("first climbed", "first climbed"), ("patented", "patented"), ("commanded", "commanded"))),
    Family("cities", "city", ("the {n} Museum", "the {n} Tower", "the {n} Opera House", "the International {w} Authority", "the seat of the Order of {n}",
                              "the {n} Palace", "the {n} Institute", "the {w} called {n}", "the European {w} Office", "the Academy of {w}", "the {n} Cathedral",
                              "the {a} {w}", "the university of {n}", "the {n} Festival", "the secretariat of {n}", "the headquarters of {n}"), (
        "In which city is {s}?", "In which city is {s}?", "In which city does {s} stand?", "In which {N} city is {s}?", "In which city can {s} be seen?",
        "In which city is {s} held?", "In which town is {s}?", "In which city is {s} based?", "Which city opened {s}?"),
        PLACED),
    Family("cities", "city", ("{p}", "the poet {p}", "the {w} Olympics of {yr}", "the {n} Conference", "the {N} king {p}", "the {j} {p}", "the {n} Games"), (
        "In which city was {s} born?", "In which city was {s} buried?", "In which city did {s} live?", "Which city was host to {s}?",
        "In which city was {s} held?", "In which city did {s} {vb} the {w}?", "In which {N} town was {s} born?", "At which town did {s} end?"),
        PLACED),
)

CONTESTS = ("the {n} Olympics", "the {n} Games", "the {n} Open", "the world championships in {t}", "the {n} Cup", "the {n} final", "the {N} championships",
            "the {yr} {n} Stakes", "the Oval in {yr}")
DRUG_HEADS = "am ba bi car ce cla cor da dex di do eso fe flu fu ga hy ke la le lo me mo ni no ox pa pi pra que ra ri se si ta te to tra val ve vo xa zi".split()
DRUG_MIDDLES = "ba bu ci da di do fa lo ma mi na ni no pa ra ri ro sa ta ti to va vi xo za".split()
DRUG_ENDS = "bentil cef cillin cycline done dipine fenac flox formin idol lamide lol mab mide mine mycin nazole nidol olol olone oxin parin pram prazole pril profen rone sartan statin tane tidine toin trel vir xaban zepam zine zolam".split()

# More sentences around the answer where another number, year or name may stand.
FILLERS = (
    "In {yr} the {w} {vb} the {ws}.", "In {m} {yr} {p} {vb} the {w}.", "It {vb} {Kk} {ws} in {yr}.", "The {N} {ws} {vb} the {w} in {q}.",
    "A {j} from {q} {vb} the {w} for {k} years.", "The {w} was {k} metres long and {vb} {Kk} {ws}.", "{f} and {f} {vb} the {w}.",
    "After {k} hours the {ws} {vb}.", "{Q} and {q} {vb} the {w}.", "The brothers {f} {vb} it in {yr}.", "Its {w} {vb} at {k} degrees.",
    "The {N} {j} {f} had {vb} the {ws}.", "For {Kk} {ws} the {a} {w} {vb}.", "On {d} the {ws} of {q} {vb} the {w}.", "Half of the {ws} {vb} by {yr}.",
)
