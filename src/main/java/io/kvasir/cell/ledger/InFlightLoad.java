package io.kvasir.cell.ledger;

/**
 * What a node has in flight on a worker, as it declares it to a new home of the worker's cell.
 *
 * @param reservation the node's id of it
 * @param worker the worker's id
 * @param model as the request named it
 * @param promptTokens tokens of the prompt
 * @param uncachedTokens those the worker has to compute when it reads the prompt
 * @param localPrefill whether it does; otherwise it takes the prompt from another worker
 * @param firstToken whether the first token has been seen
 */
public record InFlightLoad(
    long reservation,
    String worker,
    String model,
    int promptTokens,
    int uncachedTokens,
    boolean localPrefill,
    boolean firstToken) {
  /** The same when the first token has been seen. */
  public InFlightLoad begun() {
    return new InFlightLoad(reservation, worker, model, promptTokens, uncachedTokens, localPrefill, true);
  }

  /** The same when the worker reads the prompt. */
  public InFlightLoad withLocalPrefill() {
    return new InFlightLoad(reservation, worker, model, promptTokens, uncachedTokens, true, firstToken);
  }
}
