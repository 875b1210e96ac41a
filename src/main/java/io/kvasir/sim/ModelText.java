package io.kvasir.sim;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** A model's way with text: its tokenizer and its chat template. Thread-safe. */
interface ModelText {
  /** The tokens of {@code text}; with {@code special}, as the tokenizer frames a whole prompt (BOS …). */
  int[] encode(String text, boolean special);

  /** The text of {@code tokens}, special ones included. */
  String decode(int[] tokens);

  /**
   * The prompt of a chat request.
   *
   * @throws ApiError when the template refuses the request
   */
  String render(ObjectNode request) throws ApiError;

  /** The token that ends an answer. */
  int eos();
}
