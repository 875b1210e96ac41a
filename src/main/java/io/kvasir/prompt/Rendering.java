package io.kvasir.prompt;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** A model's chat template: a chat completion's body to the text that the model reads. Thread-safe. */
@FunctionalInterface
interface Rendering {
  /**
   * The text of {@code chat}.
   *
   * @throws Refused when the template calls {@code raise_exception}
   * @throws RuntimeException when it fails otherwise
   */
  String render(ObjectNode chat);

  /** The model does not take such a conversation; the message is the template's. */
  final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message);
    }
  }
}
