package io.kvasir.cell.ledger;

/**
 * What a node has in flight on a worker, as it declares it to a new home of the worker's cell.
 *
 * @param reservation the node's name of it
 * @param worker the worker's id
 * @param model as the request named it
 * @param promptTokens tokens of the prompt
 * @param uncachedTokens those the worker has to compute when it reads the prompt
 * @param readsPrompt whether it does; otherwise it takes the prompt from another worker
 * @param firstToken whether the first token has been seen
 */
public record OpenLoad(
    long reservation,
    String worker,
    String model,
    int promptTokens,
    int uncachedTokens,
    boolean readsPrompt,
    boolean firstToken) {
  /** The same when the first token has been seen. */
  public OpenLoad begun() {
    return new OpenLoad(reservation, worker, model, promptTokens, uncachedTokens, readsPrompt, true);
  }

  /** The same when the worker reads the prompt. */
  public OpenLoad reading() {
    return new OpenLoad(reservation, worker, model, promptTokens, uncachedTokens, true, firstToken);
  }
}
