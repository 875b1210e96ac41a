package io.kvasir.routing;

import java.net.InetAddress;
import org.jspecify.annotations.Nullable;

/**
 * The headers, body fields and client of a request, for preparers, which put what later stages need into slots. Facts
 * stay on the node where the request arrived; elsewhere they are {@link #NONE}. Values are computed when they are read.
 * Used by one thread at a time.
 */
public interface RequestFacts {
  /** No facts: of a request that is not prepared where it arrived, and in the laboratory. */
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

  /** Value of the first header of that name, ignoring case; null when there is none or it is blank. */
  @Nullable String header(String name);

  /**
   * A string, number or boolean of the JSON body as text, null when there is none or it is blank.
   *
   * @param path names from the outside inwards with dots between, such as {@code metadata.session_id}
   */
  @Nullable String field(String path);

  /** The first or last message of a user. */
  enum UserTurn { FIRST, LAST }

  /**
   * The user's text: of the first or last user message that has any, or the prompt of a completion; null when there is
   * no text, or the request generates nothing (embeddings, rankings).
   */
  @Nullable String userText(UserTurn turn);

  /**
   * The request's tenant: the value of a header that the operator has configured for it, else {@code key-} and the
   * first 16 hexadecimal digits of the SHA-256 of the API key, else empty.
   */
  String tenant();

  /**
   * The prompt's token ids as its engine makes them, null when they are not known. Each call tokenises the whole
   * prompt. May be called on another thread than the other methods.
   */
  default int @Nullable [] tokens() {
    return null;
  }

  /** The connection's remote address, which may be a proxy's; null when it is not known. */
  @Nullable InetAddress client();
}
