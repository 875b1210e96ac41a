package io.kvasir.lab;

/**
 * One request of a trace.
 *
 * @param arrivalMs when it is sent, in milliseconds from the trace's start; ignored when it follows another
 * @param promptTokens tokens of the prompt, at least 1
 * @param outputTokens tokens of the answer, at least 1
 * @param chain hashes of the prompt's full blocks and, where a trace knows them, of those of the answer; later
 *     ones are ignored
 * @param session the session key, empty for none
 * @param tenant the tenant that sends it, empty where tenants are not known
 * @param parent position in the trace of the request whose answer it follows, -1 for none
 * @param thinkMs milliseconds between that answer's end and this request
 */
record LabRequest(
    double arrivalMs,
    int promptTokens,
    int outputTokens,
    BlockHashes chain,
    String session,
    String tenant,
    int parent,
    double thinkMs) {
  /** The parent of a request that follows no other. */
  static final int NO_PARENT = -1;

  /** A request sent at a time, whatever other requests do. */
  static LabRequest at(double arrivalMs, int promptTokens, int outputTokens, BlockHashes chain, String session) {
    return new LabRequest(arrivalMs, promptTokens, outputTokens, chain, session, "", NO_PARENT, 0);
  }

  /** This request, sent some time after another's answer. */
  LabRequest following(int request, double newThinkMs) {
    return new LabRequest(arrivalMs, promptTokens, outputTokens, chain, session, tenant, request, newThinkMs);
  }

  /** This request at another time. */
  LabRequest arriving(double otherMs) {
    return new LabRequest(otherMs, promptTokens, outputTokens, chain, session, tenant, parent, thinkMs);
  }

  /** This request, sent by a tenant. */
  LabRequest of(String sender) {
    return new LabRequest(arrivalMs, promptTokens, outputTokens, chain, session, sender, parent, thinkMs);
  }
}
