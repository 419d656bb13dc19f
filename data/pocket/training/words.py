"""Word lists and sentence patterns of the training world: plain material, no logic.

The patterns are written in the style of an encyclopaedia. None is taken from a passage of an evaluated question.
Slots: {s} subject, {v} verb phrase, {y} year, {n} invented name, {p} person, {t} invented town, {w} noun, {ws} plural noun,
{a} adjective, {d} day and month, {k} small number, {Kk} one in words, {K} large number, {c} century, {j} job.
"""

from __future__ import annotations

# fmt: off
NOUNS = """abbey agreement aircraft airport alliance ambassador archive army artist assembly author bank banner bay bell bishop blockade
book border bridge brigade building camp campaign canal capital cargo castle cathedral ceremony channel charter church city claim
coast code coin colony comet commission committee company conference conflict congress constitution convoy council country court
crew crisis crossing crown custom dam daughter debt decree desert device dictionary discovery dispute district doctor drought
dynasty earthquake edition election element emperor empire engine engineer epidemic era eruption estate exhibition exile
expedition exploration explosion factory fair faith family famine festival film fire fleet flight flood forest fortress fountain
frontier gallery garden garrison gate general glacier government governor guild gulf harbour harvest heir highway hill history
hospital hotel house hymn ice idea independence industry inquiry instrument invasion invention island journal journey judge king
kingdom lake language law leader league lens library lighthouse line machine magazine majority map market marriage mathematician
mayor medal merchant metal minister ministry mission model monastery monument moon mosque mountain movement museum navy
newspaper novel observatory ocean office opera orbit orchestra order organisation painter painting palace parish park parliament
party patent peace peak people physicist pilot plague plan planet poem poet port portrait post power president press priest prince
princess printer prison prize probe procession project province publisher queen race radio railway rebellion reform refuge
regiment region reign religion republic revolt revolution river road rocket route rule ruler sailor satellite scholar school
science scientist sculptor sea senate series settlement ship shore shrine siege signal society soldier spacecraft speech square
stadium star state station statue steam stone storm strait street strike style success summit sun surrender survey synagogue
system tax telegraph telephone telescope temple territory theatre theory throne title tomb tower town trade tradition train
treaty trial tribe troops truce tunnel union university vaccine valley vessel victory village volcano vote voyage wall war
warship water weapon winter witness world writer year""".split()

ADJECTIVES = """ambitious ancient annual armed bitter bold brief broad calm celebrated central ceremonial cheap civil coastal cold
colonial common costly crowded deep delicate distant dry early eastern economic elaborate electric enormous entire famous fertile
final first foreign former formal free great growing heavy high holy huge important independent industrial inland joint large
last late legal local long lost low main major maritime medical medieval military modern modest moral narrow national native
natural naval new noble northern old open original peaceful permanent popular powerful private prominent public quiet rapid rare
regular religious remote rich rival royal rural safe scientific second secret secular serious severe short silent similar simple
sixth slow small social solar solid southern steep strategic strong successful sudden technical temporary third traditional
tropical unknown urban vast violent walled western wide wooden young""".split()

VERBS = """abandoned accepted admired adopted advanced affected allowed altered announced appeared argued arranged arrived asked
attacked attracted awarded became began believed belonged borrowed bought brought built called captured carried caused celebrated
changed claimed collapsed collected combined commanded compared compiled confirmed connected conquered considered contained
continued controlled copied covered created criticised crossed damaged declared declined defeated defended delayed described
designed destroyed developed died discovered disputed divided doubled drew earned encouraged ended enjoyed enlarged entered
escaped examined expanded expected explored extended failed fell financed fled followed forced formed fought found funded gained
gathered gave granted grew guarded halted helped hosted ignored improved included increased influenced inherited inspired
interrupted introduced invited joined kept killed knew landed lasted launched learned led left lost made maintained marked
measured met moved named needed negotiated observed obtained occupied offered opened opposed ordered owned paid painted passed
performed persuaded placed planned preserved prevented produced promised promoted proposed protected proved provided published
pushed raised ran reached rebuilt received recognised recorded recovered reduced refused reigned rejected remained removed
repaired replaced reported represented resigned restored returned revealed rose ruined ruled sailed saw secured sent separated
served settled shaped showed signed sold spread stayed stood stopped struck studied succeeded suffered supplied supported
surrendered survived taught threatened took trained transferred translated travelled turned united used visited voted warned
watched weakened welcomed withdrew won worked wrote""".split()

FUNCTION_WORDS = """a about above across after again against all almost along already also although among an and another any are around as
at away back be because been before behind below between both but by can could despite down during each either enough even ever
every few for from further had has have he her here him his how however if in instead into it its itself just later least less
like little many may might more most much must near nearly neither never next no nor not nothing now of off often on once one only
or other others our out over own perhaps rather same several she should since so some soon still such than that the their them
then there these they this those though through throughout thus till to together too toward two under until up upon very was were
what when where whether which while who whom whose why will with within without would yet ten three four five six seven eight nine
twelve twenty thirty forty fifty hundred thousand million half quarter century decade month week day hour kilometres metres
tonnes men women children passengers""".split()

MONTHS = "January February March April May June July August September October November December".split()
JOBS = """engineer architect king queen general bishop explorer chemist printer governor painter physician emperor merchant astronomer
aviator botanist captain composer designer doctor founder geologist inventor keeper mathematician monk musician nurse physicist
pilot poet president priest sculptor student surgeon surveyor teacher weaver writer""".split()
SYLLABLE_ONSETS = "b br c ch d dr f g gr h j k kl l m n p pr qu r s sh sk st t th tr v w y z".split()
SYLLABLE_VOWELS = "a a a e e e i i i o o o u u ai ea ou".split()
SYLLABLE_CODAS = ["", "", "", "", "", "", "n", "r", "l", "s", "m", "nd", "rt", "ck", "th"]
NAME_ENDINGS = "a ia o en ov ski burg ton ville ford stad mark land berg ford shire heim ara eth ius or".split()

# (question auxiliary, verb of the question, verb phrase of a statement)
SIGNED = [("was", "signed", "was signed"), ("was", "concluded", "was concluded"), ("was", "agreed", "was agreed")]
FOUGHT = [("was", "fought", "was fought"), ("did", "take place", "took place"), ("did", "begin", "began")]
BUILT = [("was", "completed", "was completed"), ("was", "opened", "was opened"), ("was", "inaugurated", "was inaugurated"),
         ("did", "open", "opened")]
FOUNDED = [("was", "founded", "was founded"), ("was", "established", "was established")]
PRINTED = [("was", "published", "was published"), ("was", "first published", "was first published"),
           ("was", "printed", "was printed"), ("was", "first performed", "was first performed")]
HAPPENED = [("did", "take place", "took place"), ("did", "occur", "occurred"), ("did", "strike", "struck")]
ERUPTED = [("did", "erupt", "erupted")]
BEGAN = [("did", "begin", "began"), ("did", "break out", "broke out"), ("did", "end", "ended")]
PASSED = [("was", "passed", "was passed"), ("was", "adopted", "was adopted"), ("was", "repealed", "was repealed"),
          ("did", "come into force", "came into force")]
CROWNED = [("was", "crowned", "was crowned"), ("was", "elected", "was elected"), ("did", "become king", "became king"),
           ("was", "assassinated", "was assassinated"), ("was", "executed", "was executed")]
REACHED = [("did", "reach {t}", "reached {t}"), ("did", "land at {t}", "landed at {t}"), ("did", "discover {t}", "discovered {t}"),
           ("did", "set out for {t}", "set out for {t}")]
MADE = [("was", "invented", "was invented"), ("was", "patented", "was patented"), ("was", "first demonstrated", "was first demonstrated"),
        ("was", "discovered", "was discovered"), ("was", "first isolated", "was first isolated")]
FLOWN = [("was", "launched", "was launched"), ("did", "sink", "sank"), ("did", "make its first voyage", "made its first voyage"),
         ("did", "land on the Moon", "landed on the Moon")]
HELD = [("was", "first held", "was first held"), ("was", "held", "was held"), ("was", "convened", "was convened")]
FELL = [("did", "fall", "fell"), ("was", "captured", "was captured"), ("did", "gain independence", "gained independence"),
        ("was", "destroyed by fire", "was destroyed by fire"), ("did", "join the {n} Union", "joined the {n} Union")]

# (subject pattern, its verbs)
EVENTS: list[tuple[str, list[tuple[str, str, str]]]] = [
    *[(f"the {x}", SIGNED) for x in ("Treaty of {n}", "Peace of {n}", "{n} Convention", "Pact of {n}", "{n} Accord", "Union of {n}")],
    *[(f"the {x}", FOUGHT) for x in ("Battle of {n}", "Siege of {n}", "Battle of {n} Bay", "naval battle of {n}", "{n} campaign")],
    *[(f"the {x}", BUILT) for x in (
        "{n} Canal", "{n} Bridge", "{n} Tower", "{n} Cathedral", "{n} Railway", "{n} Dam", "{n} Tunnel", "{n} Palace", "{n} Theatre",
        "{n} Lighthouse", "{n} Opera House", "{n} Observatory", "town hall of {n}", "port of {n}", "{n} Library", "{n} Airport")],
    *[(f"the {x}", FOUNDED) for x in (
        "University of {n}", "{n} Academy", "city of {n}", "{n} Company", "Bank of {n}", "{n} Museum", "{n} Society", "Order of {n}",
        "Republic of {n}", "{n} Institute", "{n} Party", "colony of {n}", "{n} League", "town of {n}")],
    *[(f"the {x}", PRINTED) for x in (
        "{n} Bible", "{n} Gazette", "{n} Atlas", "novel The {w} of {n}", "opera {n}", "{n} Dictionary", "{n} Symphony", "{n} Papers",
        "first map of {n}", "play The {a} {w}")],
    *[(f"the {x}", HAPPENED) for x in ("{n} earthquake", "Great Fire of {n}", "{n} flood", "{n} Mutiny", "{n} explosion", "{n} massacre")],
    *[(x, ERUPTED) for x in ("Mount {n}", "the volcano {n}", "the {n} volcano")],
    *[(f"the {x}", BEGAN) for x in ("{n} War", "{n} Revolution", "{n} Rebellion", "War of the {n} Succession", "{n} Uprising", "{n} Crisis")],
    *[(f"the {x}", PASSED) for x in ("{n} Act", "Constitution of {n}", "Edict of {n}", "{n} Charter", "Law of {n}", "{n} Declaration")],
    *[(x, CROWNED) for x in ("King {p}", "Queen {n}", "Emperor {n}", "{p}", "Pope {n}", "President {p}", "Prince {p}")],
    *[(x, REACHED) for x in ("{p}", "the explorer {p}", "Captain {p}", "the {n} expedition", "the ship {n}")],
    *[(f"the {x}", MADE) for x in (
        "{n} engine", "{n} lamp", "{a} {w}", "{n} process", "{w} of {p}", "element {n}", "planet {n}", "comet {n}", "{n} telegraph",
        "{n} vaccine", "moon {n}")],
    *[(x, FLOWN) for x in ("the {n} spacecraft", "the steamship {n}", "the probe {n}", "the satellite {n}", "the warship {n}", "HMS {n}")],
    *[(f"the {x}", HELD) for x in ("Congress of {n}", "{n} Festival", "Council of {n}", "{n} Cup", "{n} Games", "Diet of {n}", "{n} Conference")],
    *[(x, FELL) for x in ("{n}", "the fortress of {n}", "the city of {n}", "the kingdom of {n}", "the {n} Palace")],
]

QUESTIONS = [*["In what year"] * 6, *["In which year"] * 3, "When", "What year"]
DATE_QUESTIONS = [*["On what date"] * 6, "On which date", "On which day", "When"]

NUMBER_WORDS = ("two", "three", "four", "five", "six", "eight", "ten", "twelve", "twenty", "thirty", "forty")

# Sentences that name the subject, where the one that states the answer does not.
ABOUT = [
    "{S} {vb} the {a} {w}.", "{S} is remembered for a {w}.", "The {w} of {s} {vb} the {ws}.", "{S}, {app}, {vb} the {w}.", "For {s} the {ws} {vb} a {w}.",
    "When {s} {vb}, the {ws} {vb} the {w}.", "A {a} {w} {vb} {s}.", "{S} was a {a} {w} of {t}.", "In {t} {s} {vb} the {w}, {tail}.", "People call {s} a {w}.",
]

# The sentence that states the year. {S} is the subject at the start of a sentence.
STATEMENTS = [
    "{S} {v} in {y}.", "{S} {v} in {y}.", "{S} {v} in {y}, {tail}.", "In {y} {s} {v}.", "In {y}, {tail}, {s} {v}.",
    "It was in {y} that {s} {v}.", "{S} {v} on {d} {y}.", "{S} {v} in {m} {y}, {tail}.", "On {d} {y} {s} {v}.",
    "{S}, {app}, {v} in {y}.", "{S}, {app}, {v} in {y}, {tail}.", "By most accounts {s} {v} in {y}.", "After {k} years {s} {v} at last in {y}.",
    "{S} {v} in the {w} of {y}, {tail}.", "{S} {v} in {y} under {p}, {app}.", "The year was {y} when {s} {v}.",
    "Work and talk went on for {k} years before {s} {v} in {y}.", "{S} ({y}) {app2}.", "Historians agree that {s} {v} in {y}.",
    "{S} {v} during the {a} {w} of {y}.", "Dated {y}, {s} {app2}.", "{S} goes back to {y}, {tail}.",
    "In {m} {y}, {tail}, {s} {v}.", "{S} {v} in {t} in {y}.", "The {w} came in {y}: {s} {v}, {tail}.",
]

# The same for a full date, where the pattern has no day or month of its own.
DATE_STATEMENTS = [
    pattern.replace(" in {y}", " on {y}").replace("In {y}", "On {y}")
    for pattern in STATEMENTS
    if "{d}" not in pattern and "{m}" not in pattern and "The year" not in pattern
]

TAILS = [
    "when {p} {vb} the {w}", "after {k} years of {w}", "with {K} {ws} present", "during a {a} {w}", "to the surprise of {t}",
    "before the {w} of {t}", "{k} months later", "under {p}", "while the {a} {w} {vb}", "though the {ws} {vb} it", "at {t}",
    "and {p} {vb} it", "and the {w} {vb}", "at a cost of {K} {ws}", "in the reign of {p}", "bringing the {w} to a close",
]
APPOSITIONS = [
    "a {w} of the {a} {w}", "the {a} {w} near {t}", "the work of the {j} {p}", "long a {a} {w}", "one of the {a} {ws} of {t}",
    "a {k}-year {w}", "{K} metres long", "known as the {a} {w}",
]
PREDICATES = [
    "is remembered for its {a} {w}", "changed the {w} of {t}", "is the {a} {w} of {p}", "{vb} the {a} {ws}", "was a {a} {w}",
]

# Sentences around it; they hold other numbers, never a four-digit one.
FILLERS = [
    "The {w} lies on the {a} {w} of {t}.", "Its {w} was {a} and its {ws} were {a}.", "{P}, a {j} from {t}, {vb} the {w}.",
    "More than {K} {ws} {vb} the {a} {w}.", "The {a} {ws} {vb} the {w} for {k} years.", "It {vb} the {w} between {t} and {t}.",
    "Today the {w} is a {a} {w} visited by {K} people a year.", "At first the {ws} {vb} the {w}, but {p} {vb} it.",
    "The {w} of {t} {vb} in the {c} century.", "A {w} and {k} {ws} {vb}.", "Few {ws} {vb} the {a} {w} of {p}.",
    "The {j} {p} had {vb} the {ws} of {t} since {d}.", "Because of the {a} {w}, the {w} {vb} and the {ws} {vb}.",
    "Its {w} measures {K} metres.", "It is named after {p}, who {vb} the {w} of {t}.", "Without it the {ws} would have {vb} the {w}.",
    "The {w} {vb} until the {a} {w} of {t}.", "Many {ws} of the {w} are kept in the {w} of {t}.", "Both sides {vb} the {w}.",
    "Some {k} {ws} later, the {w} {vb} again.", "The {a} {w} became a {w} of the {ws}.", "Its first {j} was {p} of {t}.",
    "Ships of the {w} carried {ws}, {w} and {ws} to {t}.", "The {ws} were paid for by {p} and the {w} of {t}.",
    "For {k} days the {ws} {vb} the {a} {w}.", "They {vb} from {t} to {t}, a distance of {K} kilometres.",
    "Nobody in {t} had {vb} such a {w} before.", "The {w} cost {K} {ws} and took {k} years.", "{T} remained a {a} {w}.",
    "When the {w} {vb}, the {ws} of {t} {vb}.", "The {j} refused, and the {w} passed to {p}.", "It stood on a {a} {w} above the {w}.",
    "There were {k} {ws}, {k} {ws} and a {a} {w}.", "Its {ws} are still used in {t}, though the {a} {w} is gone.",
    "Among the {ws} was {p}, later {j} of {t}.", "The {a} {w} gave {t} its {w}, its {w} and most of its {ws}.",
    "News of the {w} reached {t} after {k} weeks.", "The {w} ran for {K} km through {a} {ws}.", "Critics called it a {a} {w}.",
    "Every {k} years the {ws} of {t} meet to mark the {w}.", "As a result, the {w} and the {ws} {vb} each other.",
    "The {w} had two {ws}: a {a} {w} and a {w} of {w}.", "Under its terms the {w} of {t} went to {p}.",
]
