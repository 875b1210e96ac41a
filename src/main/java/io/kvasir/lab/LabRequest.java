package io.kvasir.lab;

/**
 * One request of a trace.
 *
 * @param arrivalMs when it is sent, milliseconds from the trace's start; of no matter when it follows another
 * @param promptTokens tokens of the prompt, at least 1
 * @param outputTokens tokens of the answer, at least 1
 * @param chain hashes of the prompt's full blocks and, where a trace knows them, of those of the answer; what
 *     comes after is not looked at
 * @param session what keeps a conversation together, empty when nothing does
 * @param parent position in the trace of the request whose answer it waits for, -1 for none
 * @param thinkMs milliseconds between that answer's end and this request
 */
record LabRequest(
    double arrivalMs, int promptTokens, int outputTokens, long[] chain, String session, int parent, double thinkMs) {
  /** It waits for no other request. */
  static final int NO_PARENT = -1;

  /** A request sent at a time of its own. */
  static LabRequest at(double arrivalMs, int promptTokens, int outputTokens, long[] chain, String session) {
    return new LabRequest(arrivalMs, promptTokens, outputTokens, chain, session, NO_PARENT, 0);
  }

  /** The same, sent when another has been answered. */
  LabRequest following(int request, double afterThinkingMs) {
    return new LabRequest(arrivalMs, promptTokens, outputTokens, chain, session, request, afterThinkingMs);
  }

  /** The same at another time. */
  LabRequest arriving(double otherMs) {
    return new LabRequest(otherMs, promptTokens, outputTokens, chain, session, parent, thinkMs);
  }
}
