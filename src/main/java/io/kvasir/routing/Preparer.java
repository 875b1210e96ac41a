package io.kvasir.routing;

/**
 * A plugin of the prepare stage: derives facts of the request (session key, hash key, another service's answer …) and
 * puts them in slots, once per request and before candidates are read. Preparers run on the node where the request
 * arrives, when tokens and chain are known; the slots that later stages read are transferred to the cell's home, where
 * preparers do not run again. An instance belongs to one profile of a node.
 */
public non-sealed interface Preparer extends Plugin {
  /**
   * Fills every slot that the preparer {@link #writes}. It may wait for I/O, up to its own deadline, after which the
   * slots get documented fallback values ({@link AsyncPreparer} does so). The stages after it never wait.
   *
   * @throws InvalidRoutingHintException when a routing hint of the client is invalid; the request is refused with its
   *     message
   */
  void prepare(RoutingContext context);

  /**
   * Fills every slot that the preparer {@link #writes} without waiting, at a cell's home, for a request that this
   * profile has not prepared where it arrived. There are no {@link RoutingContext#facts}.
   */
  default void prepareWithoutWaiting(RoutingContext context) {
    prepare(context);
  }
}
