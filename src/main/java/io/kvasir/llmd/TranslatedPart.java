package io.kvasir.llmd;

/**
 * What became of one part of an EndpointPickerConfig, or of one argument.
 *
 * @param verdict how near Kvasir comes to it
 * @param part the part by name, such as {@code queue-scorer} or {@code flowControl.maxBytes}
 * @param line the line of the file, counted from 1; 0 where there is none
 * @param sentence the counterpart, or why there is none and what to do
 */
public record TranslatedPart(Verdict verdict, String part, int line, String sentence) {

  /** How near Kvasir comes to a part. */
  public enum Verdict {
    /** The same is done. */
    SAME("the same here"),
    /** About the same is done; the difference can be seen in some cases. */
    SIMILAR("about the same here"),
    /** Kvasir does without it: what it is for is always done, or does not arise. */
    NEEDLESS("not needed here"),
    /** It is left out, and what it did is not done. */
    MISSING("no counterpart");

    private final String words;

    Verdict(String words) {
      this.words = words;
    }

    /** The verdict in words. */
    public String words() {
      return words;
    }
  }
}
