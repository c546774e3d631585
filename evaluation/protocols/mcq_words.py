"""The words by which an answer to a lettered question is stated, doubted or refused, in several languages: patterns as data.

They are read over text in which full-width signs have become plain ones: STATED, HEADED, CONCLUDED, REFUSED and KEYS over its
lower case, which is twice as fast, the others in any case. Every repetition is bounded, so that
the search stays linear in the length of the text.
"""

from __future__ import annotations

# A letter stands alone where no letter, digit or underscore of a Latin, Greek or Cyrillic word touches it; Chinese may.
_WORD = r"0-9A-Za-z_\u00aa-\u00ba\u00c0-\u02af\u0300-\u036f\u0370-\u03ff\u0400-\u052f"
ALONE, ENDS = rf"(?<![{_WORD}])", rf"(?![{_WORD}])"

_TAG = r"</?(?:b|i|u|p|br|em|strong|span|div|code|mark)>"
_LATEX = r"\\(?:text(?:bf|it|rm|sf)?|math(?:rm|bf|it|sf)|boldsymbol|bm|bf|rm|mbox|operatorname|underline|f?box(?:ed)?)"
_QUOTES = r"*_`\"'“”‘’«»„‹›$\\"
WRAP = rf"(?:{_TAG}|{_LATEX}|[\s,:#=~•·(\[{{<>|\-–—【「『《〈{_QUOTES}]){{0,24}}"
LINE_WRAP = WRAP.replace(r"\s", r"\t ")
CLOSE = rf"(?:{_TAG}|[)\]}}>】」』》〉{_QUOTES}]){{0,8}}"

# --- reasoning --------------------------------------------------------------------------------------------------------

_THOUGHT = r"(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis)"
REASONING_CLOSES = rf"</{_THOUGHT}>|\[/think\]|◁/think▷|<\|end_of_thought\|>|<\|channel\|>\s?final(?:\s?<\|message\|>)?"
REASONING_OPENS = rf"<{_THOUGHT}>|\[think\]|◁think▷|<\|begin_of_thought\|>|<\|channel\|>\s?(?:analysis|commentary)"

# --- a statement, up to the letter ------------------------------------------------------------------------------------

# What may stand between "the answer is" and the letter.
FILL = (
    r"(?:(?:therefore|thus|hence|then|clearly|definitely|certainly|most likely|likely|probably|indeed|still|simply|now|in fact"
    r"|actually|obviously|option|choice|letter|answer|number|the|be|is|best|correct|one"
    r"|also|daher|somit|folglich|die|der|das|buchstabe|antwort|antwortmöglichkeit|ist|eindeutig"
    r"|donc|la|le|l'option|l['’]|lettre|réponse|bien|est|proposition"
    r"|por (?:lo )?tanto|entonces|el|opci[oó]n|letra|respuesta|inciso|es|literal|alternativa|op[cç][aã]o|a letra|é"
    r"|quindi|opzione|lettera|risposta|dunque|è|optie|antwoord|вариант|буква|под буквой"
    r"|هي|هو|الخيار|là|phương án|विकल्प|है)(?![a-zà-ÿ])"
    r"|选项|選項|选择|選擇|选|選|应为|应该是|應為|是|为|為|선택지|보기|選択肢)"
)

_CONNECT = (
    r"(?:[*_\"'`]{0,4}\s{0,3}(?:\([^()\n]{0,30}\)\s{0,3})?[*_\"'`]{0,4}"
    r"(?:[:=→]|(?:is|are|should be|must be|has to be|remains|stays|becomes|being|ist|lautet|wäre|est|es|sería|seria|é|è|sarebbe)"
    r"(?![a-zà-ÿ'’])|[-–—]{1,2}\s))"
)
_RIGHT = (
    r"(?:correct|right|best|final|most appropriate|most likely|most suitable|my|chosen|selected|overall|definitive)"
)
_ENGLISH = (
    rf"(?:answers?(?:[ _](?:choice|option|letter|key))?|ans|final|correct|solution|conclusion|verdict"
    rf"|{_RIGHT}\s(?:choice|option|selection|response|pick|letter|one))"
)
_GERMAN = r"(?:antwort(?:möglichkeit)?|lösung|(?:richtige|korrekte|beste) (?:option|wahl))(?: (?:ist|lautet)| nummer)?"
_ROMANCE = (
    r"(?:(?:bonne |meilleure )?réponse(?: (?:correcte|finale|exacte|juste))?"
    r"|respuesta(?: (?:correcta|final|es))?|opci[oó]n correcta|alternativa corret?c?ta"
    r"|(?:resposta|op[cç][aã]o|alternativa)(?: (?:corret?a|certa|final))|resposta"
    r"|risposta(?: (?:corretta|esatta|giusta|finale))?|opzione corretta)"
)
_OTHERS = (
    r"(?:(?:juiste )?antwoord|(?:rätt )?svar(?:et)?|odpowiedź(?: to)?|(?:doğru )?cevap"
    r"|(?:правильный |верный |окончательный )?ответ)"
)
_CJK = (
    r"(?:(?:正确|正確|最终|最終|最佳|标准|標準|参考|我的)?(?:答案|选项|選項)】?(?:应该|應該|应|應|就|则|為|为|是|选|選|：|:)"
    r"|答案】?|(?:正确|正確|符合|恰当|合适)的(?:选项)?(?:是|为|為)"
    r"|(?:正解|正答|解答|回答|答え|こたえ)(?:は|：|:)?|(?:정답|답|답변)(?:은|는|:)?)"
)
_RTL_AND_INDIC = r"(?:الإجابة|الاجابة|الجواب)(?: (?:الصحيحة|الصحيح|النهائية))?|(?:सही )?उत्तर|đáp án(?: đúng)?"

# Nouns with what connects them to the letter; then those that need nothing between.
STATED = (
    rf"{ALONE}(?:{_ENGLISH}|{_GERMAN}|{_ROMANCE}|{_OTHERS}){_CONNECT}|{_CJK}|{_RTL_AND_INDIC}"
    # first person
    rf"|{ALONE}i(?:['’]d|['’]ll| would| will| shall| must| hereby|['’]m going to)? (?:rather )?"
    r"(?:choose|select|pick|go with|opt for|settle on|settle for|vote for|answer(?: with)?)(?![a-z])"
    rf"|{ALONE}i(?:['’]m| am) going with"
    r"|ich (?:wähle|nehme|entscheide mich für)|je choisis|je sélectionne|elijo|escojo|selecciono|escolho|scelgo|ik kies"
    r"|(?:я )?выбираю"
    r"|(?:所以|因此|故|应|應|应该|應該|本题|本題|我|只能|答案|综上)?(?:选择|選擇|选|選)(?![项項题題性出用拔手取])"
)
# A noun alone on its line, or with a word that makes it final: the letter may follow at once.
HEADED = (
    rf"{ALONE}(?:final|correct|right|best|chosen) answer|^[\W_]{{0,8}}answer|{ALONE}selected (?:option|choice|answer)"
    rf"|{ALONE}ans\."
    r"|<(?:final_?)?answer>|<final>|richtige antwort|respuesta correcta|bonne réponse|risposta corretta|resposta correta"
)
# A JSON member whose name speaks of an answer.
JSON = (
    r"[\"'](?:(?!wrong|incorrect|rejected|excluded|eliminated|initial|other|first)[\w ]){0,30}?"
    r"(?:answer|choice|option|letter|prediction|选项|答案|respuesta|réponse|antwort|resposta|risposta)"
    r"(?:[\w ](?!text|count)){0,12}[\"']\s{0,5}:\s{0,5}\[?"
)
# What concludes without naming the answer: it counts where nothing was stated outright.
CONCLUDED = (
    rf"{ALONE}(?:so|therefore|thus|hence|ergo|consequently|accordingly)(?![a-z]),?(?: (?:it['’]s|it is|it must be))?"
    rf"|{ALONE}(?:it|this|that|which)(?:['’]s| is| must be| has to be| would be)(?![a-z])"
    rf"|{ALONE}(?:answer|choice|option|guess|pick) (?:would|might|could|may|will) be"
    rf"|{ALONE}i(?:['’]d| would)? (?:think|believe|guess|say|suspect|conclude)(?![a-z])(?: (?:that )?(?:it['’]s|it is))?"
    rf"|{ALONE}(?:definitely|certainly|surely|probably|clearly|must be|go with|going with|my guess is|leaning towards?"
    r"|(?:that|this|which) leaves)(?![a-z])"
    rf"|{ALONE}(?:diagnosis|step|management|treatment|test|option|choice|statement|finding|therapy) (?:is|would be)(?![a-z])"
    rf"|{ALONE}not (?:option |answer )?\(?[a-z]\)?,? but(?: rather)?"
    rf"|{ALONE}(?:donc|daher|deshalb|somit|folglich|por (?:lo )?tanto|portanto|logo|quindi|dunque|dus|поэтому|значит)(?![a-zà-ÿ])"
    r"|所以|因此|综上(?:所述)?|我?认为是?|→|⇒|=>|✅|✓|✔|☑"
)
# The letter first: "B is the correct answer"; with the noun outright, without it as a conclusion.
_COPULA = r"(?:is|ist|es|est|è|é)"
_HEAVY = (
    r"(?:the|clearly|therefore|thus|definitely|most|only|single|very|die|la|le|der|eindeutig|donc|daher|also|por tanto)"
)
CORRECT_NOUN = (
    rf"\s{{1,2}}{_COPULA} (?:{_HEAVY} ){{0,4}}(?:(?:correct|right|best|appropriate|likely|suitable|preferred|richtige|korrekte)"
    r" (?:answer|option|choice|one|response|selection|antwort|option|lösung)"
    r"|(?:bonne réponse|réponse correcte|respuesta correcta|opción correcta|resposta correta|alternativa correta"
    r"|risposta corretta|answer))"
    r"|\s?(?:选项|選項|项|項)?(?:才?是|为|為)?最?(?:正确|正確)(?:的)?(?:答案|选项)|\s?が正解|\s?(?:가|이) 정답"
)
CORRECT = (
    rf"\s{{1,2}}{_COPULA} (?:{_HEAVY} ){{0,4}}(?:correct|right|best|appropriate|likely|preferred|richtig|korrekt"
    r"|correct[aeo]|juste|exacte|corretta|correta|certa)(?![a-z])"
    r"|\s?(?:选项|選項|项|項)?(?:才?是|为|為)?最?(?:正确|正確|恰当|符合|合适|对(?!应|于|照|比))"
)

# Signs without which a rule finds nothing, in lower case: (before, after) is how far from one of them a statement may reach.
# They are found many times faster than the patterns, which are then tried only around them.
KEYS = {
    "boxed": (r"boxed|fbox", (2, 8)),
    "json": (r"[\"']\s{0,5}:", (60, 12)),
    "stated": (
        r"answer|ans[:.=]|final|correct|solution|conclusion|verdict|choice|option|selection|response|pick|letter|one |one:"
        r"|choose|select|go with|opt for|settle|vote|going with"
        r"|antwort|lösung|wahl|wähle|nehme|entscheide|réponse|choisis|sélectionne|respuesta|opci|alternativa|elijo|escojo"
        r"|selecciono|resposta|opção|opcao|escolho|risposta|opzione|scelgo|antwoord|kies|svar|odpowiedź|cevap|ответ|выбираю"
        r"|答|选|選|正确|正確|符合|恰当|合适|正解|正答|こたえ|답|الإجابة|الاجابة|الجواب|उत्तर|đáp án|<final>",
        (48, 64),
    ),
    "letter_first": (
        r"correct|right|best|likely|appropriate|suitable|preferred|answer|richtig|korrekt|exacte|juste|corret|certa"
        r"|正确|正確|正解|恰当|符合|合适|对|정답",
        (120, 32),
    ),
    "headed": (r"answer|ans\.|selected|<final>|antwort|respuesta|réponse|risposta|resposta", (16, 16)),
    "refused": (
        r"sorry|cannot|can['’]?t|can not|unable|not able|won['’]?t|will not|decline|know|not (?:sure|certain|confident)"
        r"|as an ai|insufficient|no (?:idea|option|choice|answer) |none of the|无法|抱歉|不知道|no puedo|peux pas|ich kann"
        r"|posso|わかりません|判断できません",
        (16, 64),
    ),
}

# --- doubts, in the words just before a statement and just after a letter ---------------------------------------------

# "If the answer is B", "a student might say the answer is", "your answer is": nobody answers here.
UNSAID = (
    r"(?:\b(?:if|unless|whether|suppos\w{1,5}|assum\w{1,5}|imagine|wenn|falls|si|se|caso|als)"
    r"|n['’]?t (?:think|believe|say|know|mean|agree|claim)(?: that)?|\bdoubt\w{0,3}(?: that)?"
    r"|\b(?:not|never) (?:think|believe|say|sure|certain|mean|agree|claim)(?: that| if)?"
    r"|\b(?:might|may|could|would|can|will|tempted to|wrongly|incorrectly)"
    r" (?:say|think|argue|claim|believe|assume|guess|suggest|choose|answer|conclude)(?: that)?"
    r"|\b(?:thought|claims?|claimed|said|argues?|argued|suggested|says)(?: that)?"
    r"|\b(?:wrong|incorrect|your|students?['’]?s?|user['’]s|others?|another|previous|first|initial|earlier|original|second"
    r"|alternative|tempting|distractor|not|isn['’]?t|no|any|each|every|which|falsche|mauvaise|incorrecta|errada)"
    r"|如果|假如|假设|若|倘若|要是|不是|并非|不|别|非|误|错|未|能否|是否|誤)"
    r"\s{0,3}(?:(?:the|that|this|my|die|la|le|il|el|a|correct|right|best|final|正确|能|应|应该|会|可|可以|要|的)\s{0,2}){0,3}\Z"
)
# "B is wrong", "B (incorrect)": the letter was named to be rejected.
_IS = (
    r"(?:(?:is|are|was|were|would be|can be|could be|seems?|looks?|option|choice|answer|therefore|also|clearly"
    r"|ist|est|es|è|é)\s{1,2})"
)
REJECTED = (
    rf"{CLOSE}[\s:(,\-–—]{{0,4}}(?:{_IS}{{1,3}}(?:not|never|nicht|no|pas|non)(?![a-z])"
    rf"|{_IS}{{0,3}}(?:incorrect[aeo]?|wrong|false|excluded|ruled out|eliminated|unlikely|implausible"
    r"|less likely|inappropriate|contraindicated|tempting|falsch|faux|fausse|errad[ao]|sbagliat[ao])(?![a-z]))"
    rf"|{CLOSE}\s{{0,2}}(?:isn|wasn|can|does|doesn)['’]?(?:t|not)(?![a-z])"
    rf"|{CLOSE}\s?(?:选项|選項|项|項)?(?:是|为|也)?(?:错|錯|不|误|排除|被排除|否)"
)
# Nothing in the list is meant: a statement without a letter.
NO_OPTION = (
    r"(?:none(?![a-z])|no(?:t)? (?:one|option|answer|listed|given|among|clear|possible|known|enough|sure|determin|available)"
    r"|n/a(?![a-z])|unknown|unclear|undetermined|uncertain|cannot|can['’]?t(?![a-z])|impossible|insufficient|unable|null(?![a-z])"
    r"|I (?:cannot|can['’]?t|don['’]?t|do not|am unable|am not|refuse|decline)|all of|\?|keine|aucune?|ningun[ao]|nenhuma|nessuna"
    r"|以上都|都不|均不|无|無|没有|沒有|不确定|未知|该当なし|없)"
)
HEDGED = r"(?:either|between|both|one of|entweder|entre|zwischen|soit|介于|要么)(?![a-z])"
# A second letter after the first: joined by "or" it is a doubt whatever follows, joined by "and" where the list ends there.
_MAYBE = r"(?:(?:possibly|maybe|perhaps|even|option|answer|choice|potentially|vielleicht|eher)\s{1,2}){0,2}"
OR = (
    rf"{CLOSE}\s{{0,2}}[(,]?\s{{0,2}}(?:(?:(?:and/)?or|oder|ou|o|ó|vs\.?|versus|или|,? ?(?:possibly|maybe|perhaps))(?![a-z])"
    rf"|/|\||或者|或|还是|還是|または|か|또는)\s{{0,2}}{_MAYBE}"
)
AND = (
    rf"{CLOSE}\s{{0,2}}(?:(?:and|und|et|y|e|och|и)(?![a-z])|,|&|\+|、|和|及|与|與|跟|と)\s{{0,2}}(?:(?:and|und|or)\s)?"
    rf"{_MAYBE}"
)
LIST_ENDS = (
    rf"{CLOSE}(?:\s{{0,3}}\Z|\s{{0,2}}[.,;!。，；)\n、&+]|\s{{1,2}}(?:are|both|and|or|together|combined|sind|sont|son|und|et|y)(?![a-z])"
    r"|\s?(?:都|均|皆|和|或))"
)
REFUSED = (
    r"\b(?:i|we)(?: am|['’]m)? (?:sorry|cannot|can['’]?t|can not|unable|not able|won['’]?t|will not|must decline"
    r"|do(?:n['’]?t| not) know|not (?:sure|certain|confident))|as an ai\b|can(?:no|['’]?)t be determined"
    r"|unable to (?:determine|answer|decide|choose)|insufficient (?:information|data)"
    r"|no (?:idea|option|choice|answer) |none of the|无法|抱歉|不知道|no puedo|je ne peux pas"
    r"|ich kann\b.{0,40}\bnicht\b|não posso|non posso|わかりません|判断できません"
)

# --- what a single letter is besides an option ------------------------------------------------------------------------

_SPECIES = (
    r"(?:coli|diff(?:icile)?|pylori|influenzae?|pertussis|cereus|anthracis|burgdorferi|fragilis|henselae|quintana|abortus"
    r"|melitensis|suis|f(?:a)?ecalis|f(?:a)?ecium|cloacae|botulinum|tetani|perfringens|albicans|auris|glabrata|krusei|jejuni"
    r"|trachomatis|pneumoniae|psittaci|diphtheriae|neoformans|gattii|immitis|histolytica|lamblia|duodenalis|vaginalis"
    r"|granulosus|multilocularis|ducreyi|burnetii|canis|dermatitidis|aerogenes|corrodens|fumigatus|flavus|niger|baumannii"
    r"|israelii|lumbricoides|duodenale|freundii|koseri|bacilliformis|capsulatum|parainfluenzae|hominis|cepacia|chaffeensis)"
)
_COMPOUND = (
    r"(?:dimers?|reactive|cells?|type|section|fib(?:rillation)?|peptide|cadherin|csf|protein|lactate|lactams?|spine|arm|lines?"
    r"|hcg|waves?|scan|scans|mode|strep|lymphocytes?|natriuretic|symptoms|virus|antigen|antibod\w{1,4}|fibers?|group|score)"
)
NOT_OPTION = (
    rf"['’](?:m|d|ve|ll|s|re|t)(?![a-z])|\.[A-Za-z](?![A-Za-z])|[-‐‑](?:{_COMPOUND}(?![a-z])|(?-i:[a-z0-9]|[A-Z]{{2}}))"
    rf"|(?:\.\s?|\s){_SPECIES}(?![a-z])|\s{_COMPOUND}(?![a-z])|\+(?!\s?[A-J](?![a-z]))"
    r"|\s?(?:型|族|组|組|级|級|类(?!药)|類|期|群|链|鏈|细胞|細胞|蛋白|淋巴|肽|反应蛋白|超(?![过過])|형)"
)
# What follows a letter that could be a word of its own: the article, the pronoun, any small letter.
_GOES_ON = (
    r"(?:or|and|oder|und|ou|et|y|because|since|as|which|based|given|due|with|but|over|rather|instead|here|is|was|not|although|though|while|per|by"
    r"|weil|da|denn|car|parce|puisque|porque|ya que|pois|perché|потому)"
)
FOLLOWED = (
    rf"{CLOSE}(?:\s{{0,3}}\Z|\s{{0,3}}[.,;:!?。，；：！？、)\n]|\s{{1,2}}[-–—(=]|\s?</|\s{{1,2}}{_GOES_ON}(?![a-z])"
    r"|\s?[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3→⇒✓✅✔])"
)
FOLLOWED_I = (
    rf"{CLOSE}(?:\s{{0,3}}\Z|[.):]|\s{{0,3}}\n|\s{{1,2}}(?:because|since)(?![a-z])|\s?[\u3040-\u30ff\u3400-\u9fff])"
)
# A conclusion is one only with a letter that stands like this, or a doubt: (before) is how far behind its words.
KEYS["conclusion"] = (rf"{ALONE}[a-z]{ENDS}(?:{FOLLOWED})|{HEDGED}", (200, 16))
