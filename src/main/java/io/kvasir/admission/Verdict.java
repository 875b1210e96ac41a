package io.kvasir.admission;

/** What a {@link Gate} has to do with a request now. */
public sealed interface Verdict {
  /** It may go. */
  Verdict GO = new Go();

  /** It may go. */
  record Go() implements Verdict {}

  /**
   * It waits, and is looked at again a moment later.
   *
   * @param reason what it waits for
   */
  record Hold(HoldReason reason) implements Verdict {}

  /** It is refused: waiting would not help. */
  record Refuse(AdmissionRefusal refusal) implements Verdict {}
}
