package io.kvasir.cell.line;

/**
 * Where a node is asked.
 *
 * @param node its name: its address and incarnation; who else answers there is not asked
 * @param host its host
 * @param port its {@linkplain Lines#port() port for lines}
 */
public record LineAddress(String node, String host, int port) {}
