package io.kvasir.gateway.body;

import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.dispatch.Handover;
import io.kvasir.http.Cancellation;
import io.kvasir.http.client.PodTransport;
import java.util.Locale;

/** Why a request that a proxy sends to its worker is placed without a look at its prompt: by the load of workers. */
public enum UnreadBody {
  /** There is none, or the proxy does not show it. */
  EMPTY("there is no body"),
  /** It is JSON, but not what its API wants. */
  UNFIT("the body is not what the API wants"),
  /** It is no JSON. */
  MALFORMED("the body is no JSON"),
  /** It is nested more deeply, or has longer names or numbers, than is read. */
  EXCESSIVE("the body's JSON is more than is read"),
  /** It has more values than there is memory for. */
  MEMORY("there is no memory to read the body"),
  /** Its coding is none that can be removed, or it is not what that says, or too long without it. */
  CODING("the body's coding cannot be removed");

  private final String words;

  UnreadBody(String words) {
    this.words = words;
  }

  /** Whether it is nothing, or JSON after all. */
  public boolean isReadable() {
    return this == EMPTY || this == UNFIT;
  }

  /** Its name in metrics. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** A handover whose decisions have this in their reason, too. */
  public Handover explained(Handover handover) {
    return new Handover() {
      @Override
      public Decision decide(DecisionRequest request, Cancellation client) {
        Decision decision = handover.decide(request, client);
        return decision instanceof Decision.Planned planned
            ? planned.with(planned.steps(), planned.reason() + "; prompt not read: " + words)
            : decision;
      }

      @Override
      public PodTransport transport(Decision.Planned decision) {
        return handover.transport(decision);
      }
    };
  }
}
