package io.kvasir.routing.plugins;

import io.kvasir.routing.InvalidRoutingHintException;
import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.Set;

/**
 * What the client asks of its worker: labels in {@code labels-header} (X-Router-Labels), names in {@code allow-header}
 * (X-Router-Allow) and {@code exclude-header} (X-Router-Exclude), each at most {@value #LONGEST} characters. Filters
 * heed it where they have {@code from-client = true}; labels that are none are told the client.
 */
final class ClientWishesPreparer implements Preparer {
  private static final int LONGEST = 1024;

  private final String labelsHeader;
  private final String allowHeader;
  private final String excludeHeader;

  ClientWishesPreparer(Parameters parameters) {
    this.labelsHeader = parameters.text("labels-header", "X-Router-Labels");
    this.allowHeader = parameters.text("allow-header", "X-Router-Allow");
    this.excludeHeader = parameters.text("exclude-header", "X-Router-Exclude");
  }

  @Override
  public void prepare(RoutingContext context) {
    String labels = wish(context, labelsHeader);
    try {
      LabelSelector.of(labels);
    } catch (IllegalArgumentException none) {
      throw new InvalidRoutingHintException("Header " + labelsHeader + ": " + none.getMessage() + ".");
    }
    context.put(Slots.REQUIRED_LABELS, labels);
    context.put(Slots.ALLOWED_WORKERS, wish(context, allowHeader));
    context.put(Slots.EXCLUDED_WORKERS, wish(context, excludeHeader));
  }

  private static String wish(RoutingContext context, String header) {
    String value = context.facts().header(header);
    if (value == null) {
      return "";
    }
    if (value.length() > LONGEST) {
      throw new InvalidRoutingHintException(
          "Header %s has %d characters; at most %d are read.".formatted(header, value.length(), LONGEST));
    }
    return value;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.FACTS);
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(Slots.REQUIRED_LABELS, Slots.ALLOWED_WORKERS, Slots.EXCLUDED_WORKERS);
  }
}
