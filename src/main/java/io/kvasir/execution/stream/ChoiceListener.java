package io.kvasir.execution.stream;

/** Receives what a {@link ChoiceScan} finds, while it scans. What arrays hold is valid during the call only. */
interface ChoiceListener {
  /** What a choice may have besides its text. */
  enum Part {
    /** Who speaks. */
    ROLE,
    /** That it has ended. */
    END,
    /** It is not the first of the choices. */
    ANOTHER,
    TOOL_CALL,
    REASONING,
    /** Something else that is not empty. */
    OTHER
  }

  /** A choice has ended, for a reason of {@code length} bytes. */
  void finished(byte[] reason, int length);

  /** A part was seen, perhaps not for the first time. */
  default void part(Part part) {}

  /** The next bytes of a choice's text, {@code bytes[from, to)}, with the escapes of JSON, which may be cut. */
  default void text(byte[] bytes, int from, int to) {}
}
