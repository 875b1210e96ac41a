package io.kvasir.load;

import java.util.Random;

/** Prompts to send. */
final class Words {
  private static final String[] WORDS =
      ("the router sends each request where its prefix is cached and a request that lands there starts in a fraction"
              + " of time while engines keep blocks of prompts they have seen before under load and memory moves")
          .split(" ", -1);

  private Words() {}

  /** Words that look like a text of about {@code length} characters, the same for the same random source. */
  static String text(Random random, int length) {
    StringBuilder text = new StringBuilder(length + 16);
    while (text.length() < length) {
      text.append(WORDS[random.nextInt(WORDS.length)]).append(random.nextInt(20) == 0 ? ". " : " ");
    }
    return text.toString().strip();
  }
}
