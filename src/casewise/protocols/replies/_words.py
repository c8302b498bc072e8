"""The words refusals are made of: who declines, how, and which help is declined."""

import re
from typing import Final

# --- long forms -----------------------------------------------------------------------------

_LONG_FORMS = (
    (re.compile(r"\b(?:cannot|can'?t|canna)\b"), "can not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"\bain'?t\b"), "is not"),
    (re.compile(r"\b(do|does|is|are|would|should|could)n'?t\b"), r"\1 not"),
    (re.compile(r"(?<=\w)n't\b"), " not"),
    (re.compile(r"\bi'?m\b"), "i am"),
    (re.compile(r"(?<=\w)'re\b"), " are"),
    (re.compile(r"(?<=\w)'ll\b"), " will"),
    (re.compile(r"(?<=\w)'ve\b"), " have"),
    (re.compile(r"(?<=\w)'d\b"), " would"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"\b(that|it|there|here|what|this|who|which|answer)'s\b"), r"\1 is"),
)


def spelt_out(sentence: str) -> str:
    """The sentence in lower case and in long forms."""
    text = sentence.lower()
    for short, long in _LONG_FORMS:
        text = short.sub(long, text)
    return text


# --- who, and how ---------------------------------------------------------------------------

SERVICE: Final = (
    r"(?:assistant|bot|chatbot|chat|tool|service|app|page|site|website|platform|desk|channel|line"
    r"|helper|helpline|system|model|feature|company|firm|bank|shop|store|hotel|team|office"
    r"|library|board|forum|agent|advis[eo]r|guide|ai|machine|robot)"
)
SELF: Final = (
    rf"(?:i|we|(?:this|our|the|your) (?:\w+ ){{0,2}}{SERVICE}"
    r"|\w{2,20}(?:bot|pal|assist|helper|buddy|gpt|mate|desk|chat|coach|hub))"
)
ADVERBS: Final = (
    r"(?:\w+ly |just |also |still |even |in good conscience |therefore |too |very |so |a bit "
    r"|a little ){0,3}"
)
NOT: Final = (
    r"(?:(?:can|could|will|would|shall|should|may|must|do|does|did|am|are|is|have|has) "
    rf"{ADVERBS}not|never|no longer)"
)
# What follows is no refusal: perception, emphasis, uncertainty, good will.
IDIOM: Final = (
    r"(?!(?:\w+ ){0,2}?(?:condone|believe|wait|stress|emphasi[sz]e|underline|imagine|overstate"
    r"|overempha\w+"
    r"|begin to|thank|remember|recall|deny|complain|blame|guarantee|promise|know|mean to|doubt"
    r"|be (?:more|sure|certain|happier|prouder)|see why|mind|replace|pretend to (?:know|be)"
    r"|exaggerate|fault|agree more|hesitate|judg\w+ (?:you|anyone)|want (?:this|you|to (?:alarm"
    r"|worry|scare))|say (?:for (?:sure|certain)|with certainty|enough|it (?:better|often))"
    r"|tell (?:you )?(?:how (?:many|much|often|glad|happy|sorry|common|important|long|relieved)"
    r"|for (?:sure|certain)|enough|from here)|(?:recommend|praise|thank|repeat|give|say|do) "
    r"(?:[\w']+ ){0,4}enough|help (?:but|it\b|smil|laugh|feel|notic|wonder|think|admir)))"
)
# "I wouldn't explain more than that to him" is advice.
ADVISED: Final = (
    r"(?!would not (?!want|like|feel|be |help|assist|share|write|go |do |give you|tell you"
    r"|discuss))"
)
ACTS: Final = (
    r"(?:help|assist|aid\b|provid|shar(?:e|ing)|writ(?:e|ing)|discuss|answer|giv(?:e|ing)|tell"
    r"|explain"
    r"|describ|list\b|listing|nam(?:e|ing)\b|detail|spell|walk|draft|compos|produc|creat|generat"
    r"|craft|author|offer|advis|suggest|comply|complies|fulfil|complet|support|facilitat|engag"
    r"|participat|contribut|lend|teach|show|hand\b|hand(?:s|ing)?\b|print|repeat|reveal|disclos"
    r"|divulg|pass(?:es|ing)? |cover|handl|touch|process|speculat|comment|guid|instruct|encourag"
    r"|enabl|promot|condon|endors|continu|proceed|unlock|respond|repl(?:y|ies)\b|entertain|indulg"
    r"|collud|cooperat|co-operat|coach|rehears|plan\b|plann|pretend|play|role-?play|act\b|join"
    r"|type|typing|translat|invent|supply|supplies|suppli|serv|deal\b|deals\b|dealing|weigh|search"
    r"|look|point|recommend|assess|arrang|deliver|outlin|summari|reproduc|address|accommodat"
    r"|grant|honou?r|execut|perform|satisf|approv|oblige|bring|find|trac(?:e|k|ing)|identif|locat"
    r"|confirm|evaluat|judg|analy[sz]|calculat|estimat|say (?:more|any|which|how|what|where|when|"
    r"who|anything|that|it)|go (?:in|there|along|further|beyond|near|over|through|down|any|on)"
    r"|goes (?:in|there|along|near)|going (?:in|there|along|near)|do (?:that|this|it|so|such|any|"
    r"these|those|requests|\w+ing)\b|does (?:that|this|it|so|such)|doing (?:that|this|it|so)"
    r"|get (?:in|you|any|mixed|drawn)|getting (?:in|you|any|mixed|drawn)|make (?:that|this|it|up"
    r"|any"
    r"|an exception)|put (?:that|this|it|my|any|in|into|to)|putting|read (?:that|out)|speak (?:to"
    r"|about|on)|talk (?:about|through|you)|take (?:part|that|this|sides|on)|taking (?:part|sides"
    r"|that|this)|be (?:part|party|drawn|the one|of (?:help|use|assistance|service|any)|a part"
    r"|involved|helping|able|doing|giving|writing|sharing|answering|explaining)|have (?:any part"
    r"|anything|information|advice|an answer|permission)|leav\w{1,3} (?:you|that|it) with"
    r"|open\b|let\b|allow|permit|accept|carry|turn into|work (?:on|out|with)|feed|arm\b|set out"
    r"|lay out|run through|break (?:that|this|it) down|point|verify|arrange)"
)
GIVE_UP: Final = (
    r"(?:declin(?:e|es|ing)|refus(?:e|es|ing)\b|refrain|abstain|bow(?:ing)? out|opt(?:ing)? out"
    r"|steer(?:ing)? (?:well )?clear|stay(?:s|ing)? (?:well )?(?:clear|out of|away from|silent"
    r"|quiet"
    r"|mum|off)|step(?:ping)? (?:back|away|aside)|stand(?:ing)? (?:back|aside|down)"
    r"|draw(?:ing)? (?:the|a) line"
    r"|h(?:o|e)ld(?:ing|s)? (?:\w+ ){0,3}?back|hold(?:ing)? off|pass(?:ing)? (?:on (?:this|that|it"
    r"|the)|this time|up)|keep(?:s|ing)? (?:[\w']+ ){0,5}?(?:to (?:myself|ourselves|itself)|out of"
    r"|back\b|quiet|shut|closed|private|confidential|locked|under)|leav(?:e|es"
    r"|ing) (?:[\w',-]+ ){0,9}?"
    r"(?:out\b|open\b|blank|aside|unsaid|unanswered|undone|unwritten|untouched|at that|to (?:your"
    r"|the"
    r"|a|an|those|someone|somebody|whoever|people|others|him|her|them|professionals|experts|you)\b)"
    r"|leaving (?:it|that|this|that one|this one) (?:there|alone|be)|leav(?:e|ing) (?:out|off)"
    r"|omit|withhold|side-?step|dodg(?:e|ing)|duck(?:ing)? (?:out|this|that|the)|skirt|swerv(?:e"
    r"|ing)|gloss(?:ing)? over|bypass"
    r"|shelv(?:e|ing)|park(?:ing)? (?:this|that|it)|bit(?:e|ing) my tongue"
    r"|hold(?:ing)? my (?:tongue|peace|fire)|zip(?:ping)? (?:my|it)"
    r"|clam(?:ming)? up|balk|baulk|demur|forgo|forbear|desist|resist (?:that|this|the)|veto"
    r"|wash(?:ing)? (?:my|our) hands"
    r"|say(?:ing)? no(?:thing| more)|giv(?:e|ing) (?:this|that|it)(?: one)? a miss|tak(?:e"
    r"|ing) a pass|tak(?:e|ing) the fifth"
    r"|excus(?:e|ing) (?:myself|ourselves)|recus(?:e|ing)|sign(?:ing)? off|walk(?:ing)? away"
    r"|turn(?:ing)? away|look(?:ing)? the other way"
    r"|keep(?:ing)? my (?:mouth|distance|hands|counsel)|leav(?:e|ing) you to it"
    r"|stay(?:ing)? (?:vague|general|mum|schtum|on the surface"
    r"|at the level)|remain(?:ing)? (?:vague|general|silent)|keep(?:ing)? (?:it|this|things|that"
    r"|my answer) (?:general|vague|abstract"
    r"|high[- ]level|at that|to the (?:basics|outline|principle))|sit(?:ting)? (?:this|that"
    r"|it) (?:one )?out|stop(?:ping)? (?:here"
    r"|there|short)|say(?:ing)? no\b|turn(?:ing)? (?:[\w']+ ){0,4}down"
    r"|take(?:s)? no (?:further )?part"
    r"|end(?:ing)? (?:this|the|our) (?:conversation|chat)|reserv(?:e|ing))"
)
RELUCTANT: Final = (
    r"(?:(?:un(?:able|willing|comfortable|easy|prepared))|hesitant|hesitate|reluctant|wary|loath"
    r"|loth"
    r"|disinclined|cautious about|careful (?:about|with|not)|prohibited|forbidden|barred|restricted"
    r"|prevented|limited to|obliged to (?:decline|refuse)|compelled to|hard(?:ly)? (?:the|your)"
    r"|the wrong|out\b(?! of| there)|not (?:\w+ ){0,2}?(?:able|allowed|permitted|comfortable"
    r"|willing"
    r"|prepared|authori[sz]ed|in a position|here (?:to|for)|going to|the (?:right|place|one|tool"
    r"|person|chat)|a (?:tool|party|weapon|place|substitute|service|go)|your|at liberty|free to"
    r"|equipped|qualified|built|made|meant|designed|set up|trained|programmed|supposed|keen|happy"
    r"|inclined|ready|touching|buying|playing|comfy|cut out|getting|having|taking))"
)
RULES: Final = (
    r"(?:polic(?:y|ies)|guidelines?|rules?|terms|principles|programming|restrictions|ethics"
    r"|values|standards|safeguards|settings|instructions)"
)
PEOPLE: Final = (
    r"(?:doctors?|gp|physician|clinic|pharmac\w+|lawyers?|solicitors?|attorney|police"
    r"|professionals?|hotline|helplines?|lines?\b|counsel\w*|therapist|psych\w+|specialists?"
    r"|experts?|authorit\w+|emergency|999|911|112|988|samaritans|embassy|consulate|bank|union"
    r"|cent(?:re|er)s?|hr\b|manager|supervisor|teachers?|nurses?|parents?|adults?|school|court"
    r"|council|ombudsman|office|desk|manufacturer|someone you trust|somebody you trust|friends?"
    r"|family|landlord|locksmith|accountant|association|agency|regulator"
    r"|customer (?:care|service)|support|trainer|tutor|librarian|vet|dentist|hospital|portal"
    r"|form\b)"
)
