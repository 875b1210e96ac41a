package io.kvasir.access;

import io.kvasir.access.Authentication.Accepted;
import io.kvasir.access.Authentication.Reason;
import io.kvasir.access.Authentication.Refused;
import io.kvasir.access.Authentication.Unavailable;
import io.kvasir.http.Headers;
import io.kvasir.telemetry.Metrics;
import io.prometheus.metrics.core.datapoints.CounterDataPoint;
import io.prometheus.metrics.core.metrics.Counter;
import java.time.InstantSource;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The router's authentication by keys and tokens. A request costs one digest and one lookup in the {@link KeyRing} of
 * the moment; a credential that is no key's is given to the {@link TokenVerifier}, where there is one. Before the first
 * ring is published every request is {@link Unavailable}, since a key may have been disabled on another node.
 * Thread-safe; a request sees one ring or the next, never a mixture.
 *
 * <p>Clients learn as little as they need: a key that is disabled is refused in the words for one that does not exist.
 * The metric tells them apart, and the first refusal of a disabled or expired key is logged with its id.
 */
public final class AccessControl implements Authenticator {
  private static final Logger LOG = LoggerFactory.getLogger(AccessControl.class);
  private static final String BEARER = "Bearer ";

  private static final Unavailable NOT_READY =
      new Unavailable("This router has just started and does not know yet which keys are valid; try again shortly.");
  private static final Refused MISSING =
      new Refused(
          Reason.MISSING,
          "This router needs a key: send it as \"Authorization: Bearer KEY\" or as \"x-api-key: KEY\".");
  private static final String NOT_VALID =
      "The key is not valid for this router; check that it is whole, or get another from the router's operator.";
  private static final Refused UNKNOWN = new Refused(Reason.UNKNOWN, NOT_VALID);
  private static final Refused DISABLED = new Refused(Reason.DISABLED, NOT_VALID);
  private static final Refused EXPIRED =
      new Refused(Reason.EXPIRED, "The key has expired; get another from the router's operator.");

  /**
   * What requests are checked against.
   *
   * @param anonymous the answer to every request of a router without keys; null for one with keys
   */
  private record Published(KeyRing keys, @Nullable Accepted anonymous) {}

  private final @Nullable TokenVerifier tokens;
  private final InstantSource clock;
  private final Map<Reason, CounterDataPoint> refused = new EnumMap<>(Reason.class);
  private final CounterDataPoint unavailable;
  private volatile @Nullable Published published;

  /**
   * An authenticator that knows no keys yet.
   *
   * @param tokens checks what is no key, null where tokens are not accepted
   * @param metrics where refusals are counted; once per registry
   */
  public AccessControl(@Nullable TokenVerifier tokens, InstantSource clock, Metrics metrics) {
    this.tokens = tokens;
    this.clock = clock;
    Counter counter =
        Counter.builder()
            .name("kvasir_authentications_refused_total")
            .help("Requests whose credentials were not accepted, by reason (not_ready: they could not be checked yet)")
            .labelNames("reason")
            .register(metrics.registry());
    for (Reason reason : Reason.values()) {
      refused.put(reason, counter.labelValues(reason.name().toLowerCase(Locale.ROOT)));
    }
    this.unavailable = counter.labelValues("not_ready");
  }

  /** Accepts these keys from now on, and no others. */
  public void publish(KeyRing keys) {
    published = new Published(keys, null);
  }

  /** Accepts every request as this caller's from now on, whatever credentials it carries. */
  public void publishAnonymous(Caller caller) {
    published = new Published(KeyRing.EMPTY, new Accepted(caller));
  }

  @Override
  public Authentication authenticate(Headers headers) {
    Authentication result = check(headers);
    switch (result) {
      case Accepted _ -> { }
      case Refused(Reason reason, String _) -> count(reason);
      case Unavailable _ -> unavailable.inc();
    }
    return result;
  }

  private Authentication check(Headers headers) {
    Published now = published;
    if (now == null) {
      return NOT_READY;
    }
    if (now.anonymous() != null) {
      return now.anonymous();
    }
    String credential = credential(headers);
    if (credential == null) {
      return MISSING;
    }
    KeyDigest digest = KeyDigest.of(credential);
    KeyRing.Entry entry = now.keys().find(digest);
    if (entry == null) {
      return tokens == null ? UNKNOWN : tokens.verify(credential, digest);
    }
    return entry.isDisabled() ? refused(DISABLED, entry)
        : entry.isExpired(clock.millis()) ? refused(EXPIRED, entry)
        : entry.accepted();
  }

  /** The key of a request, in OpenAI's header or in Anthropic's; null when it carries none. */
  private static @Nullable String credential(Headers headers) {
    String authorization = headers.first("Authorization");
    if (authorization != null && authorization.regionMatches(true, 0, BEARER, 0, BEARER.length())) {
      String token = authorization.substring(BEARER.length()).strip();
      if (!token.isEmpty()) {
        return token;
      }
    }
    String key = headers.first("x-api-key");
    return key == null || key.isBlank() ? null : key.strip();
  }

  private static Refused refused(Refused why, KeyRing.Entry entry) {
    if (entry.isFirstRefusal()) {
      LOG.info("requests with the key '{}' are refused: {}", entry.id(), why.reason());
    }
    return why;
  }

  private void count(Reason reason) {
    CounterDataPoint counter = refused.get(reason);
    if (counter != null) {
      counter.inc();
    }
  }
}
