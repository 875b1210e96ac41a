package io.kvasir.sim.lmcache;

/**
 * Where a controller listens; port 0 for a free one.
 *
 * @param host interface
 * @param port of HTTP
 * @param pullPort of workers' reports, which get no reply
 * @param replyPort of workers' requests
 * @param heartbeatPort of workers' heartbeats
 */
public record ControllerBinding(String host, int port, int pullPort, int replyPort, int heartbeatPort) {
  /** LMCache's usual HTTP port. */
  public static final int HTTP = 9000;

  /** Any free ports of the loopback interface. */
  public static final ControllerBinding ANYWHERE = new ControllerBinding("127.0.0.1", 0, 0, 0, 0);

  String reachableHost() {
    return host.equals("*") || host.equals("0.0.0.0") ? "127.0.0.1" : host;
  }
}
