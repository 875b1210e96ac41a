"""Makes the tokenizers of the tests, and the demo model's: byte-pair vocabularies trained on the sources
of the Python that runs this (code and English), with a few lines of our own in other scripts.

    pip install tokenizers && python train.py OUT_DIR
"""
import glob, json, os, random, sys
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OTHER_SCRIPTS = """
Маршрутизатор помнит, какой рабочий уже прочитал начало разговора, и посылает ему продолжение.
Сколько стоит чашка кофе? Двадцать три рубля, если без сахара.
路由器记得哪个工作节点已经读过对话的开头，并把后续请求发给它。今天天气很好，我们去公园散步吧。
ルーターは会話の始まりを読んだワーカーを覚えていて、続きをそこへ送ります。カタカナとひらがなと漢字。
라우터는 대화의 시작을 이미 읽은 작업자를 기억하고 다음 요청을 그곳으로 보냅니다. 오늘은 날씨가 좋아요.
يتذكر الموجه أي عامل قرأ بداية المحادثة ويرسل إليه البقية. كم الساعة الآن؟
राउटर याद रखता है कि बातचीत की शुरुआत किसने पढ़ी थी और बाकी उसी को भेजता है। १२३ ४५६
Le routeur se souvient de l'ouvrier qui a déjà lu le début de la conversation ; où êtes-vous allés cet été ?
Der Router weiß, welcher Knoten den Anfang des Gesprächs schon gelesen hat: Grüße aus Köln, Straße 12.
Ο δρομολογητής θυμάται ποιος διάβασε την αρχή. Τι ώρα είναι;
🙂 🚀🚀 👩‍💻 naïve café ﬁn Å ½ ² ①
""".strip().splitlines()

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = QWEN2.replace(r"]?\p{L}+", r"]?[\p{L}\p{M}]+").replace(r"[^\s\p{L}\p{N}]", r"[^\s\p{L}\p{M}\p{N}]")
UPPER, LOWER, CLITIC = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join([
    r"[^\r\n\p{L}\p{N}]?" + UPPER + "*" + LOWER + "+" + CLITIC,
    r"[^\r\n\p{L}\p{N}]?" + UPPER + "+" + LOWER + "*" + CLITIC,
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
TEKKEN = O200K.replace(CLITIC, "").replace("{1,3}", "")
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    "[!\"" r"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"]


def corpus(limit):
    """At most limit characters of this Python's library, the same ones every time for one Python."""
    files = sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "**", "*.py"), recursive=True))
    files = [f for f in files if "site-packages" not in f and "idlelib" not in f]
    random.Random(7).shuffle(files)
    text = OTHER_SCRIPTS * 20
    for f in files:
        if limit <= 0:
            break
        with open(f, encoding="utf-8", errors="ignore") as source:
            lines = source.read()
        limit -= len(lines)
        text.append(lines)
    return text


def splits(*patterns):
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(p), behavior="isolated") for p in patterns]
        + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def byte_level(pre_tokenizer, special, vocab, text, normalizer=None, **bpe):
    tokenizer = Tokenizer(models.BPE(**bpe))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.train_from_iterator(text, trainers.BpeTrainer(
        vocab_size=vocab, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.add_special_tokens(special)
    return tokenizer


def sentencepiece(text, vocab, normalizer, pre_tokenizer, special):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    # One piece per word while training, as SentencePiece does.
    training = Tokenizer(models.BPE(unk_token="<unk>"))
    training.normalizer = normalizers.Replace(" ", "▁")
    training.pre_tokenizer = pre_tokenizers.Split(Regex("(?=▁)"), "isolated")
    training.train_from_iterator((line for t in text for line in t.split("\n")), trainers.BpeTrainer(
        vocab_size=vocab, show_progress=False, special_tokens=["<unk>", "<s>", "</s>"]))
    trained = json.loads(training.to_str())["model"]
    pieces = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    pieces += [p for p in trained["vocab"] if p not in pieces]
    merges = [m if isinstance(m, list) else m.split(" ") for m in trained["merges"]]
    as_json = json.loads(tokenizer.to_str())
    as_json["model"]["vocab"] = {p: i for i, p in enumerate(pieces)}
    as_json["model"]["merges"] = merges
    tokenizer = Tokenizer.from_str(json.dumps(as_json))
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"] + special)
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return tokenizer


def main(out):
    os.makedirs(out, exist_ok=True)
    small, chatml = corpus(3_000_000), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]

    def save(name, tokenizer):
        tokenizer.save(os.path.join(out, name + ".json"), pretty=False)

    demo = byte_level(splits(QWEN2), chatml, 8000, corpus(30_000_000))
    demo.add_tokens([AddedToken(t, normalized=False) for t in ["<tool_call>", "</tool_call>", "<think>", "</think>"]])
    save("kvasir-demo", demo)

    gpt2 = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), ["<|endoftext|>"], 3000, small)
    gpt2.post_processor = processors.ByteLevel(trim_offsets=False)
    save("gpt2", gpt2)
    starcoder = byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                 pre_tokenizers.ByteLevel(add_prefix_space=False)]),
        ["<|endoftext|>", "<fim_prefix>"], 2000, small)
    save("starcoder", starcoder)

    llama3 = byte_level(splits(LLAMA3), ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
                        3000, small, ignore_merges=True)
    llama3.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 3000)])])
    save("llama3", llama3)

    qwen2 = byte_level(splits(QWEN2), chatml, 3000, small, normalizer=normalizers.NFC())
    # As added tokens come in the wild: plain ones, ones that eat space, whole words, normalised ones.
    qwen2.add_tokens([
        AddedToken("<tool_call>", normalized=False), AddedToken("<mask>", lstrip=True, normalized=False),
        AddedToken("<right>", rstrip=True, normalized=False), AddedToken("Kvasir", single_word=True, normalized=False),
        AddedToken("<|im_start|>x", normalized=False), AddedToken("Ångström", normalized=True),
        AddedToken("«é»", normalized=True)])
    save("qwen2", qwen2)
    save("qwen35", byte_level(splits(QWEN35), chatml, 2000, small, normalizer=normalizers.NFC()))
    save("o200k", byte_level(splits(O200K), ["<|start|>", "<|end|>", "<|message|>"], 3000, small, ignore_merges=False))
    save("tekken", byte_level(splits(TEKKEN), ["<s>", "[INST]", "[/INST]"], 2000, small, ignore_merges=True))
    deepseek = byte_level(splits(*DEEPSEEK), ["<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>"], 3000, small,
                          normalizer=normalizers.Sequence([]))
    deepseek.post_processor = processors.TemplateProcessing(
        single="<｜begin▁of▁sentence｜> $A <｜User｜>",
        special_tokens=[("<｜begin▁of▁sentence｜>", 3000), ("<｜User｜>", 3001)])
    save("deepseek", deepseek)

    llama2 = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    save("llama2", sentencepiece(small, 3000, llama2, None, []))
    save("mistral", sentencepiece(
        small, 2000, None, pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False),
        ["[INST]", "[/INST]"]))
    save("gemma", sentencepiece(
        small, 2000, normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
        ["<start_of_turn>", "<end_of_turn>"]))


main(sys.argv[1])
