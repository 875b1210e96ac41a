package io.kvasir.routing;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * What a request says of itself where it arrives: for preparers, which put what others need into slots of their
 * own. Facts stay on the node where the request arrived; elsewhere they are {@link #NONE}. Reading is cheap:
 * nothing is worked out before it is asked for. Used by one thread at a time.
 */
public interface RequestFacts {
  /** Of a request that is not prepared where it arrived, and in the laboratory: nothing. */
  RequestFacts NONE = new RequestFacts() {
    @Override
    public @Nullable String header(String name) {
      return null;
    }

    @Override
    public @Nullable String field(String path) {
      return null;
    }

    @Override
    public @Nullable String userText(UserTurn turn) {
      return null;
    }

    @Override
    public String tenant() {
      return "";
    }

    @Override
    public @Nullable InetAddress client() {
      return null;
    }
  };

  /** Value of the first header of that name, whatever its case, null when there is none or it is blank. */
  @Nullable String header(String name);

  /**
   * A text, number or truth value of the JSON body as text, null when there is none or it is blank.
   *
   * @param path names from the outside inwards with dots between, such as {@code metadata.session_id}
   */
  @Nullable String field(String path);

  /** Which of a user's messages is meant. */
  enum UserTurn { FIRST, LAST }

  /**
   * What the user says: the text of his first or last message that has any, or the prompt of a completion; null when
   * there is no text, or the request asks for no answer to one (embeddings, rankings).
   */
  @Nullable String userText(UserTurn turn);

  /**
   * Whose request it is: the value of a header the operator has named for it, else {@code key-} and the first 16
   * hexadecimal digits of the SHA-256 of the API key, else empty.
   */
  String tenant();

  /**
   * The prompt's token ids as its engine makes them, null where they cannot be told. They are made anew: that takes as
   * long as tokenising the whole prompt. May be called on another thread than the others.
   */
  default int @Nullable [] tokens() {
    return null;
  }

  /** Where the connection comes from, which may be a proxy; null when it is not known. */
  @Nullable InetAddress client();
}
