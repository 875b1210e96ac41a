package io.kvasir.sim.text;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The text of a simulated model: plain sentences of words that are one token each in its tokenizer, so that
 * the answer, sent back as history, has the very tokens that were generated, and hits the cache.
 *
 * <p>The next token is a function of all tokens before it and of nothing else. Any engine continues
 * another's answer with the words the first would have used, which makes a resumed answer easy to check.
 */
public final class SyntheticText {
  private static final int FEWEST_WORDS = 4;
  private static final int MOST_WORDS = 14;
  /** One sentence in so many is the last. */
  private static final int SENTENCES = 6;
  private static final String WORDS =
      "a about after again air all also always an and animal another answer any are around as ask at away back be "
          + "because been before began being below best better between big bird black blue boat body book both boy "
          + "bring build but by call came can car care carry change children city close cold come could country cut "
          + "day did different do does done door down draw each early earth eat end enough even ever every eye face "
          + "family far farm father feet few field find fire first fish five follow food for form found four free "
          + "friend from full gave get girl give go good got great green grow had half hand happy hard has have he "
          + "head hear heard help her here high him his hold home horse hot house how idea if important in into is it "
          + "keep kind king know land large last late learn leave left less let letter life light like line list "
          + "little live long look love low made make man many mark may me mean might more most mother mountain move "
          + "much must my name near need never new next night no north not nothing now number of off often old on once "
          + "one only open or order other our out over own page paper part people picture place plan plant play point "
          + "power press problem put question quick rain ran read real red remember rest right river road rock room "
          + "run said same saw say school sea second see seem set she ship short should show side simple since sing "
          + "sleep slow small snow so some song soon sound south spell stand star start state step still stone stop "
          + "story street strong study such sun sure table take talk teach tell ten than that the their them then "
          + "there these they thing think this those though thought three through time to together told too took top "
          + "town travel tree true try turn two under until up us use very voice wait walk want war warm was watch "
          + "water way we week well went were west what wheel when where which while white who whole why wind with "
          + "without wood word work world would write year you young your";

  private static final List<String> VOCABULARY = List.of(WORDS.split(" "));

  private final int[] paragraphStarts;
  private final int[] sentenceStarts;
  private final int[] words;
  private final int period;
  private final int eos;
  private final Map<Integer, String> texts = new HashMap<>();

  /** Collects the words that are one token in {@code model}. */
  public SyntheticText(ModelText model) {
    List<String> lower = VOCABULARY;
    List<String> upper = lower.stream().map(word -> word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1))
        .toList();
    eos = model.eos();
    words = orLetters(model, single(model, "the", " ", lower), 'a');
    sentenceStarts = orLetters(model, single(model, "the", " ", upper), 'A');
    paragraphStarts = single(model, "\n", "", upper).length > 0 ? single(model, "\n", "", upper) : sentenceStarts;
    Integer stop = follower(model, "the", ".");
    if (stop == null) {
      throw new IllegalArgumentException("The tokenizer has no single token for a full stop after a word");
    }
    period = stop;
    texts.put(period, ".");
  }

  /** A writer that continues {@code prompt}; {@code variant} distinguishes several answers to one prompt. */
  public Writer writerAfter(int[] prompt, int variant) {
    return new Writer(prompt, variant);
  }

  /** The text of a token that a writer returned; nothing for the end of the answer. */
  public String text(int token) {
    return texts.getOrDefault(token, "");
  }

  /** The words that answers are made of. */
  static List<String> vocabulary() {
    return VOCABULARY;
  }

  /** How many of them are one token each. */
  int wordCount() {
    return words.length;
  }

  /** The token of one, by its number from 0 on. */
  int word(int number) {
    return words[number];
  }

  private int[] orLetters(ModelText model, int[] found, char first) {
    if (found.length >= 16) {
      return found;
    }
    List<String> letters = new ArrayList<>();
    for (char c = first; c < first + 26; c++) {
      letters.add(String.valueOf(c));
    }
    int[] single = single(model, "the", " ", letters);
    if (single.length == 0) {
      throw new IllegalArgumentException("The tokenizer has neither words nor letters of one token");
    }
    return single;
  }

  private int[] single(ModelText model, String before, String gap, List<String> candidates) {
    List<Integer> found = new ArrayList<>();
    for (String word : candidates) {
      Integer token = follower(model, before, gap + word);
      if (token != null) {
        found.add(token);
        texts.put(token, gap + word);
      }
    }
    return found.stream().mapToInt(Integer::intValue).toArray();
  }

  /** The one token that {@code text} adds after {@code before}; null when it adds another number. */
  private static @Nullable Integer follower(ModelText model, String before, String text) {
    int[] alone = model.encode(before, false);
    int[] both = model.encode(before + text, false);
    boolean one = both.length == alone.length + 1 && Arrays.equals(alone, 0, alone.length, both, 0, alone.length);
    return one ? both[alone.length] : null;
  }

  /** Writes one answer, token by token. Not thread-safe. */
  public final class Writer {
    private long state;
    /** Words in the sentence so far; −1 where none has begun. */
    private int position;

    private Writer(int[] prompt, int variant) {
      state = variant * 0xC2B2AE3D27D4EB4FL;
      for (int token : prompt) {
        absorb(token);
      }
      position = 0;
      int at = prompt.length - 1;
      while (at >= 0 && position < MOST_WORDS && prompt[at] != period && texts.containsKey(prompt[at])) {
        position++;
        at--;
      }
      if (position == 0 && (at < 0 || prompt[at] != period)) {
        position = -1;
      }
    }

    /** The next token: a word, a full stop or, if it may be, the end. */
    public int next(boolean mayEnd) {
      int token = choose(mayEnd);
      append(token);
      return token;
    }

    /** As {@link SyntheticText#text}. */
    public String text(int token) {
      return SyntheticText.this.text(token);
    }

    /** As if {@code token} had been chosen: another engine chose it. */
    public void append(int token) {
      absorb(token);
      position = token == period ? 0 : Math.max(position, 0) + 1;
    }

    private int choose(boolean mayEnd) {
      long random = mixed(state);
      if (position < 0) {
        return pick(paragraphStarts, random);
      }
      if (position == 0) {
        return mayEnd && Long.remainderUnsigned(random >>> 8, SENTENCES) == 0 ? eos : pick(sentenceStarts, random);
      }
      boolean mayStop = position >= FEWEST_WORDS && Long.remainderUnsigned(random >>> 8, FEWEST_WORDS) == 0;
      return mayStop || position >= MOST_WORDS ? period : pick(words, random);
    }

    private int pick(int[] from, long random) {
      return from[(int) Long.remainderUnsigned(random, from.length)];
    }

    private void absorb(int token) {
      state = (state ^ token) * 0x9E3779B97F4A7C15L;
      state ^= state >>> 29;
    }

    /** Finaliser of MurmurHash3. */
    private static long mixed(long value) {
      long h = value;
      h = (h ^ (h >>> 33)) * 0xff51afd7ed558ccdL;
      h = (h ^ (h >>> 33)) * 0xc4ceb9fe1a85ec53L;
      return h ^ (h >>> 33);
    }
  }
}
