package io.kvasir.execution.stream;

/** Receives what a {@link ChoiceScan} finds, while it scans. What arrays hold is valid during the call only. */
interface ChoiceListener {
  /** What a choice may have besides its text. */
  enum Part {
    /** Who speaks. */
    ROLE(1),
    /** That it has ended. */
    END(2),
    /** It is not the first of the choices. */
    ANOTHER(4),
    TOOL_CALL(8),
    REASONING(16),
    /** Something else that is not empty. */
    OTHER(32),
    /** That its text has ended, but not why. */
    TEXT_END(64);

    private final int bit;

    Part(int bit) {
      this.bit = bit;
    }

    /** The bit that stands for it where several are noted in a number. */
    int bit() {
      return bit;
    }
  }

  /** A choice has ended, for a reason of {@code length} bytes. */
  void finished(byte[] reason, int length);

  /** A part was seen, perhaps not for the first time. */
  default void part(Part part) {}

  /** The next bytes of a choice's text, {@code bytes[from, to)}, with the escapes of JSON, which may be cut. */
  default void text(byte[] bytes, int from, int to) {}

  /** A listener that passes all it learns to this one and then to another. */
  default ChoiceListener and(ChoiceListener other) {
    ChoiceListener first = this;
    return new ChoiceListener() {
      @Override
      public void finished(byte[] reason, int length) {
        first.finished(reason, length);
        other.finished(reason, length);
      }

      @Override
      public void part(Part part) {
        first.part(part);
        other.part(part);
      }

      @Override
      public void text(byte[] bytes, int from, int to) {
        first.text(bytes, from, to);
        other.text(bytes, from, to);
      }
    };
  }
}
