package io.kvasir.cell.line;

/**
 * Where a node's lines begin and end.
 *
 * @param host an address of this machine, at which others ask
 * @param port to listen at, 0 for a free one
 * @param advertised where others find that: its own number, or another's in front of it; 0 for the port listened at
 * @param from the address this node's lines to others come from, empty when the system may choose
 */
public record LineSettings(String host, int port, int advertised, String from) {
  /** On a free port of an address, with nothing in front of it. */
  public static LineSettings on(String host) {
    return new LineSettings(host, 0, 0, "");
  }
}
