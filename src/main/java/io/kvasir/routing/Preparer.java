package io.kvasir.routing;

/**
 * Learns something of the request (session key, hash key, what another service knows of it …) and puts it in slots,
 * once per request, before any candidate is looked at. Preparers run where the request arrives, when tokens and chain
 * are known; what they fill for later stages crosses to the cell's home, and they are not run again there. An instance
 * belongs to one profile of a node.
 */
public non-sealed interface Preparer extends Plugin {
  /**
   * Fills every slot it {@link #writes}, whatever is known. It may wait for I/O, within a deadline of its own; when
   * that is over it fills its slots with the answer it documents for "too late" ({@link AsyncPreparer} does so). The
   * stages after it never wait.
   *
   * @throws InvalidRoutingHintException when what the client says for it makes no sense; the client is told
   */
  void prepare(RoutingContext context);

  /**
   * Fills every slot it {@link #writes} without waiting, at the home of a cell to which a request came that had not
   * been prepared by this profile: there are no {@link RoutingContext#facts}.
   */
  default void prepareWithoutWaiting(RoutingContext context) {
    prepare(context);
  }
}
