package io.kvasir.admission;

/**
 * How a request whose turn it is stands to the others of its class.
 *
 * @param starving whether it has its turn because its class starves: bounds of the most urgent class then apply
 * @param rivals tenants that have used less than their shares while its own tenant has used up its own, and that may
 *     send requests at any moment: room is kept for them. 0 while its tenant is the only one, or none is behind it
 */
public record Standing(boolean starving, int rivals) {
  /** Of a request that has no others before it or behind it. */
  public static final Standing ALONE = new Standing(false, 0);
}
