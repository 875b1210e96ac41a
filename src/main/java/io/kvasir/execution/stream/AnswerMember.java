package io.kvasir.execution.stream;

import java.nio.charset.StandardCharsets;

/** The members of answers that the router reads: of OpenAI's APIs, and of Anthropic's. */
enum AnswerMember {
  NOTHING,
  ERROR,
  TYPE,
  ID,
  CHOICES,
  /** The answer itself, within an event. */
  NESTED,
  USAGE,
  /** Of the tokens of a prompt. */
  DETAILS,
  PROMPT,
  OUTPUT,
  CACHED,
  CACHE_READ,
  CACHE_CREATION,
  /** What may say why the answer has ended. */
  ENDING,
  FINISH_REASON,
  STATUS;

  /** Bytes of a key that are kept: more than any of these has. */
  static final int MAX_KEY = 32;

  private static final byte[] ERROR_KEY = ascii("error");
  private static final byte[] TYPE_KEY = ascii("type");
  private static final byte[] ID_KEY = ascii("id");
  private static final byte[] CHOICES_KEY = ascii("choices");
  private static final byte[] USAGE_KEY = ascii("usage");
  private static final byte[] RESPONSE_KEY = ascii("response");
  private static final byte[] MESSAGE_KEY = ascii("message");
  private static final byte[] PROMPT_KEY = ascii("prompt_tokens");
  private static final byte[] INPUT_KEY = ascii("input_tokens");
  private static final byte[] COMPLETION_KEY = ascii("completion_tokens");
  private static final byte[] OUTPUT_KEY = ascii("output_tokens");
  private static final byte[] PROMPT_DETAILS_KEY = ascii("prompt_tokens_details");
  private static final byte[] INPUT_DETAILS_KEY = ascii("input_tokens_details");
  private static final byte[] CACHED_KEY = ascii("cached_tokens");
  private static final byte[] CACHE_READ_KEY = ascii("cache_read_input_tokens");
  private static final byte[] CACHE_CREATION_KEY = ascii("cache_creation_input_tokens");
  private static final byte[] STOP_REASON_KEY = ascii("stop_reason");
  private static final byte[] DELTA_KEY = ascii("delta");
  private static final byte[] STATUS_KEY = ascii("status");
  private static final byte[] INCOMPLETE_KEY = ascii("incomplete_details");
  private static final byte[] REASON_KEY = ascii("reason");

  /** The objects whose members are read. */
  enum Scope {
    ROOT,
    NESTED,
    USAGE,
    DETAILS,
    ENDING
  }

  /** The member of an object that has this key. */
  static AnswerMember of(Scope object, ShortText key) {
    return switch (object) {
      case ROOT -> key.is(ERROR_KEY) ? ERROR
          : key.is(TYPE_KEY) ? TYPE
          : key.is(ID_KEY) ? ID
          : key.is(CHOICES_KEY) ? CHOICES
          : key.is(USAGE_KEY) ? USAGE
          : key.is(RESPONSE_KEY) || key.is(MESSAGE_KEY) ? NESTED
          : key.is(DELTA_KEY) ? ENDING
          : ofWhole(key);
      case NESTED -> key.is(ERROR_KEY) ? ERROR
          : key.is(ID_KEY) ? ID
          : key.is(USAGE_KEY) ? USAGE
          : ofWhole(key);
      case ENDING -> key.is(STOP_REASON_KEY) || key.is(REASON_KEY) ? FINISH_REASON : NOTHING;
      case USAGE -> key.is(PROMPT_KEY) || key.is(INPUT_KEY) ? PROMPT
          : key.is(COMPLETION_KEY) || key.is(OUTPUT_KEY) ? OUTPUT
          : key.is(PROMPT_DETAILS_KEY) || key.is(INPUT_DETAILS_KEY) ? DETAILS
          : key.is(CACHE_READ_KEY) ? CACHE_READ
          : key.is(CACHE_CREATION_KEY) ? CACHE_CREATION
          : NOTHING;
      case DETAILS -> key.is(CACHED_KEY) ? CACHED : NOTHING;
    };
  }

  /** What may say why the answer has ended, of a whole answer or a response within an event. */
  private static AnswerMember ofWhole(ShortText key) {
    return key.is(STOP_REASON_KEY) ? FINISH_REASON
        : key.is(STATUS_KEY) ? STATUS
        : key.is(INCOMPLETE_KEY) ? ENDING
        : NOTHING;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }
}
