"""The common English words that tokenizers know whole; `token_counts` explains their use.

Chosen by how often they occur in documentation, mail and notes, among the words that are one token for every tokenizer
we measured. Most of the forms that `is_common` derives itself (deploys, deployed, deploying) are left out.
"""

ENDINGS = "s es d ed r er ing ly ion ions ation ations al ive or ment"

WORDS = """
ability able abort about above absolute abstract accept acceptable access accessible accident according account
accumulate accurate achieve acquire across act activate activities activity actual adapt add addition additionally
address adjust admin administration administrator advance advantage advertise advice affect afraid after afternoon
again against age agent aggressive ago agree airport alert algorithm alias align all allocate allow almost alone along
alpha already also alternate alternatively although altogether always among amount an analysis ancestor and android
angry annotate another answer any anyone anything anyway anywhere api app apparent appear append applicable
application applied applies applying approach appropriate approve approved arbitrary architect architecture archive
are area argument around arrange array article as ask aspect assembly assert assign associate assume async asyncio at
attach attack attempt attention attribute audience audit auth authenticate authors auto automatic automatically
available average avoid await aware away baby back backend background backup backward bad badge balance bare base bash
basic basically batch be beautiful became because become been before began begin beginning behave behavior behaviour
behind being believe belong below benefit best bet better between beyond big bill binary bind birthday bit black blame
blank blob block blue board body book boolean border borrow boss both bottom bought bound boundary box branch brand
breach break breakfast bring broad broke broken brother brought browse bucket budget buffer bug build built bundle
business busy but button buy by byte cache calculate call callback came camera can cancel candidate cannot cap
capabilities capital capture car care careful carry case cast cat catch category caught cause center certain
certificate chain challenge chance change channel character charge chat check checkout chess child children choice
choose chunk circumstances city claim class classification classifier clean cleanup clear cli click client clone close
cluster code coffee colleague collect colors colour column com combine come command comments commercial commit
committed common communicate community companies company compare comparison compatibility compatible compile complain
complaint complement complete complex compliance component comprehensive compress compute concept concern concurrent
condition conduct confidence config configurable configure confirm conflict confuse connect consider consist
consistent console const constant constraint construct consult consume contact contain content context continue
contract contribute contributors control controlled convenience convenient convention conversation conversion convert
cookie coordinate copied copies copy copyright core corner correct correspond corrupt cost could count country couple
course court coverage covered crash create credential credit critical cross css current cursor custom customize cut
cycle damage dark dashboard data database date datetime daughter day db deadline deal debug debugging decide decimal
decision declare decode decorator dedicated deep default define definitely definition degree delay delete deliver
delta demand demonstrate department depend dependencies dependency deploy deprecated depth derive describe description
descriptor design desktop destination destroy detach detail detect determine dev develop device diagnose diagnostic
dialog dict dictionary did diet diff difference different difficult digit dimension dinner dir direct directories
directory disable discard disconnect discount discourage discover discovery discuss disk dispatch display distance
distinct distribute do doc docker docs doctor document does dog doing dollar domain done door double down downgrade
download draw drive drop dropped due dump duplicate duration during dynamic each earlier early easier easily east easy
echo edge edit education effect effectively efficient effort eight either element eliminate else elsewhere email
embedded embedding empty enable encode encounter encourage encryption end endpoint engine english enhance enjoy enough
ensure enter entire entities entity entries entry enumerate env environment environments equal equivalent error escape
especially essential establish euros evaluate even event eventual ever every everyone everything evidence exact
examine example exceed excellent except excess exchange excited exclude exclusive exec executable execute exercise
exist exit expand expansion expect expensive experience experiment expire explain explanation explicit explore export
expose express extend extension extensive extern extra extract extremely eye face fact factory fail failure fall
fallback false family far fast father favor favorite favourite feature fee feel felt fetch few field figure file
filename filesystem fill film filter finally finance finding fine finish fire firewall first fit five fix fixture flag
flagged flight float flow focus fold follow font food foot football for force foreach foreign forget forgot form
format formatted formatter formatting forum forward found four fragment frame framework free freeze frequently friend
from front full fully fun function functionality fundamental funding further future gain gallery game garden gateway
gave general generate generic get getting github give given glob goal goes going good google got government graceful
grant graph great green grep group grow guarantee guess guide guideline guitar gym had half hand handful handle hang
happen happy hard hardware has hash hate have head headers health hear heart height hello help helpful her here hidden
hierarchy high highlight hiking him hint hire his historical history hit hobby hole holiday home homepage honor hook
hope hospital host hostname hot hotel hour house how however html http https huge human hundred husband hypotheses
hypothesis icon id idea identical identified identifier identify identity if ignore illustrate image img immediate
impact implement implicit implied import importance important impossible improve improvements in incident include
incompatible incomplete inconsistent incorrect increase increment indent independent index indicate individual
infinite info inform infrastructure inherit init initial initialize inject inline input insensitive insert inside
inspect install instance instantiate instead instruct integer integrate intend interact interest interface internal
international internet interpret interval interview into introduce introduction invalid invite invocation invoice
invoke involve io is isolate issue it item iterate its itself java javascript job join json just kb keep kept kernel
key keyboard keyword kilometers kind kitchen knew know knowledge known label lack land language laptop large largest
last late latency latest latter launch law layer layout lead leak learn least leave left legacy legal length less
lesson let letter level libraries library license life light like limit line link lint linux list listen literal
little live load local locale localhost locate lock log logger logging logic login long look lookup loop loose lose
lost lot love low lunch machine machinery macro made magic mail main maintain maintenance major majority make man
manage manipulate manual many map mapping march mark markdown market married mask master match material matrix max
maximum may maybe md mean meaningful meant measure mechanism media medical medicine meet member memory mention menu
merge message met metadata method metric middle might migrate miles milestone million min mine minimal minimum minute
mirror missed missing mistake mix mobile mock mod mode model modern modification modified modify module moment money
monitor month more morning most mother mount move ms much multiple music must myself name narrative national native
nature navigate near necessarily necessary need negative neither nest network never new next nice night nine no node
none nor normal normalize north not note nothing notice notification now null num number numeric object observe obtain
obvious occasional occur occurred of off office official offset often old omitted on once one online only open operate
operators opportunity opt optimize optional or order org organization origin originally other otherwise our out outage
outdated output outside over overall overflow overridden override overview own ownership pack package packet padding
page paid pain paint pair paper paragraph parallel parameter params parent parse part partial particular partner party
pass password past patch path pathname pattern pay payload pending people per percent perform performance perhaps
period permission permit permitted persistent person phase phone photo physical piano pick picture piece pip pipeline
place placeholder plain plan platform play please plugin plus png point police policy pool pop popular populate port
pos position positive possibility possible possibly post postgres potential pounds power powerful practice precedence
precise prefer preference preferred prefix prepare prerequisite presence present preserve president press pressure
pretty prevent previous price primarily primary principle print prior priority privacy private probably problem
procedure proceed process produce product professional profile program programming progress project promise promote
prompt propagate properly properties property propose protect protocol prototype provide proxy prune public publish
pull pure purpose push put py pytest python quality quarter queries query question queue quick quite quote race rain
raise ran random range rapid rare rate rather raw reach react read readable readonly ready real reason reasonable
rebuild receive recent recipe recognize recommend record recurse red redirect redis reduce refer reference reflect
refresh refund refuse regard regardless region register registration registry regression regular reject relate
relationship release relevant rely remain remember remote remove rename render repeat replace replica repo report
repositories repository represent reproduce request require requirements research reserve reset resolution resolve
resource respect respectively respond response responsibility responsible rest restaurant restore restrict result
retain retrieval retrieve retry return reuse reverse review revision rewrite rewritten right risk role rollback room
root rotate rough round route routine row rule run running runtime rust sad safe safety said salary sales same sample
satisfied satisfy save saw say scale scenario schedule schema scheme school science scope score screen script search
second secret section security see seek seem seen segment select self sell semantic send sense sensitive sent sentence
separate sequence serial serialize series serious serve service session set setting setup seven severe shall shallow
shape share she shell shift ship shipped shop short should show shown side sign signature significant silent similar
simple simply since single sister sit site situation six size skip skipped sleep slight slot slow small smart snapshot
snow so soccer social socket software sole solution some someone something sometime somewhat somewhere son soon sort
source south space spawn speak spec special specific specifically specified specifies specify speed spell spend split
spread spring sprint src stable stack stage stale stand standard star start state statements static status stay step
still stock stop stopped storage store stories story straight strange strategy stream street strict string strip
strong structure student stuff style subclass subject submit submitted subnet subscription subsequent substantial
substitute succeed success successful such sufficient suggest suitable suite sum summarized summary summer super
supplied supplier supply support suppose suppress sure surface surprise svg switch symbol symbolic syntax system tab
table tag take taken talk target task taught tea teach team teammate technical technology tell temp template temporary
ten tennis term terminal terminate test text than thank that the their them theme themselves then there therefore
these they thing think third this those though thought thousand thread three through throughout throughput throw
thrown thus ticket tie time timeout timestamp timezone tip tired title to today together toggle token told tomorrow
too took tool top topic total touch toward trace track traditional trailing train transaction transfer transform
transition translate transport travel traverse treat tree tried tries trigger trip trivial true truncate trust try ts
tuple turn tutorial twice two type types typical unavailable undefined under underlying underscore understand
unexpected unfortunate unicode unique unit universal university unix unknown unless unlike unnecessary unsigned
unsupported until up update upgrade upload upon upstream urgent url usage use useful user username users using usual
util utilities utility vacation val valid validate value variable variant variation variety various vector vendor
verbose verification verify version very via video view violate virtual visible visit visual voice vulnerability
vulnerable wait walk want war warehouse warn warnings warranty was waste watch water way we weather web website week
weekend weight welcome well went were west what whatever wheel when whenever where whether which while white
whitespace who whole whom whose why wide widget width wife will win window winter wish with within without woman women
word work workaround workflow workspace world worried worth would wrap wrapper write written wrong wrote www yaml year
yesterday yet yield you young yourself zero zip zone
"""

COMMON_WORDS = frozenset(WORDS.split())
COMMON_ENDINGS = tuple(ENDINGS.split())


def is_common(word: str) -> bool:
    """Whether a word in lower case is a common English one, or one of its forms (deploys, deployed, deploying)."""
    if word in COMMON_WORDS:
        return True
    for ending in COMMON_ENDINGS:
        if word.endswith(ending):
            stem = word.removesuffix(ending)
            if len(stem) > 2 and (stem in COMMON_WORDS or f"{stem}e" in COMMON_WORDS):
                return True
    return False
