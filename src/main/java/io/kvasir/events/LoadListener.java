package io.kvasir.events;

/** The receiver of the load that a rank publishes. Called on a thread that reads many sockets: it may not block. */
public interface LoadListener {
  /** A message came. */
  void loaded(LoadMessage load);

  /** A message came that cannot be read; it says nothing of the load. */
  void malformed();
}
