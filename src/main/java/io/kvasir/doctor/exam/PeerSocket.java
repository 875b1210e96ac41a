package io.kvasir.doctor.exam;

/**
 * What listens at a ZMQ endpoint.
 *
 * @param state whether anything does
 * @param type of an open ZMQ socket, such as {@code PUB} or {@code ROUTER}; empty when it does not tell
 */
public record PeerSocket(State state, String type) {
  /** Whether anything listens. */
  public enum State {
    /** Nothing takes a connection there. */
    REFUSED,
    /** Something does, and it is no ZMQ socket. */
    NOT_ZMQ,
    /** A ZMQ socket. */
    OPEN
  }

  /** Whether a subscriber is served there. */
  public boolean isPublisher() {
    return state == State.OPEN && (type.isEmpty() || type.equals("PUB") || type.equals("XPUB"));
  }

  /** Whether replays are served there. */
  public boolean isReplay() {
    return state == State.OPEN && (type.isEmpty() || type.equals("ROUTER"));
  }
}
