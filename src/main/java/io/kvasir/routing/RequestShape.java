package io.kvasir.routing;

/**
 * What a request asks for, as far as that decides how many workers it takes.
 *
 * @param divisible whether one worker may read its prompt and another answer: it generates one answer to one prompt
 * @param mediaItems images, sounds and videos in it, which an encode worker could take
 */
public record RequestShape(boolean divisible, int mediaItems) {
  /** A text to be continued. */
  public static final RequestShape TEXT = new RequestShape(true, 0);

  /** Anything that one worker has to do alone: embeddings, several prompts at once. */
  public static final RequestShape INDIVISIBLE = new RequestShape(false, 0);
}
