package io.kvasir.app.node;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.filter.Filter;
import ch.qos.logback.core.spi.FilterReply;

/** Leaves out of the log what the parts of a {@link WarmUp} say about themselves. {@code logback.xml} names it. */
public final class WarmUpFilter extends Filter<ILoggingEvent> {
  /** Where Pekko notes the path of the actor that logs. */
  private static final String ACTOR = "pekkoSource";

  private static final String OWN = WarmUp.class.getName();

  @Override
  public FilterReply decide(ILoggingEvent event) {
    boolean warmUps =
        event.getThreadName().startsWith(WarmUp.NAME)
            || event.getMDCPropertyMap().getOrDefault(ACTOR, "").contains(WarmUp.NAME);
    return warmUps && !event.getLoggerName().equals(OWN) ? FilterReply.DENY : FilterReply.NEUTRAL;
  }
}
