package io.kvasir.routing;

/**
 * Learns something of the request (tokens, chain, session key …) and puts it in slots, once per request,
 * before any candidate is looked at. Preparers run where the request arrives; one whose slots have crossed
 * to the cell's home is not run again there.
 */
public non-sealed interface Preparer extends Plugin {
  /**
   * Fills every slot it {@link #writes}. It may wait for I/O, within a deadline of its own; when that is
   * over it fills its slots with the answer it documents for "too late". The stages after it never wait.
   */
  void prepare(RoutingContext context);
}
