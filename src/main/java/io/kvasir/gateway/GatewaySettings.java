package io.kvasir.gateway;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.request.WebSocketSettings;
import io.kvasir.programs.ProgramReader;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How the gateway behaves.
 *
 * @param scheme of the listener, for {@code X-Forwarded-Proto}: {@code http}, or {@code https} when it speaks TLS
 * @param usageInjection whether streams of chat and completions whose client does not ask for usage are made to
 *     carry it: the router requests it of the engine and keeps the extra event from the client. Off, the engine's
 *     counts are unknown for such streams
 * @param keepAlive silence after which a stream sends a keep-alive, so that no proxy cuts it; null for none
 * @param forwarding what of a client's request reaches an engine
 * @param webSockets who may open WebSockets, and to which model
 * @param programs reads what requests say of their programs; null when nobody needs it
 * @param admission how requests wait
 */
public record GatewaySettings(
    String scheme,
    boolean usageInjection,
    @Nullable Duration keepAlive,
    ForwardingSettings forwarding,
    WebSocketSettings webSockets,
    @Nullable ProgramReader programs,
    AdmissionSettings admission) {
  /** Settings that forward whatever clients send to the paths of inference. */
  public GatewaySettings(String scheme, boolean usageInjection, @Nullable Duration keepAlive) {
    this(
        scheme, usageInjection, keepAlive, ForwardingSettings.defaults(), WebSocketSettings.DEFAULTS,
        null, AdmissionSettings.OFF);
  }

  /** Plain HTTP, with bodies as clients send them. */
  public static GatewaySettings defaults() {
    return new GatewaySettings("http", false, Duration.ofSeconds(15));
  }

  /** The same with other rules for what reaches an engine. */
  public GatewaySettings with(ForwardingSettings other) {
    return new GatewaySettings(
        scheme, usageInjection, keepAlive, other, webSockets, programs, admission);
  }

  /** The same with other rules for WebSockets. */
  public GatewaySettings with(WebSocketSettings other) {
    return new GatewaySettings(
        scheme, usageInjection, keepAlive, forwarding, other, programs, admission);
  }

  /** The same that recognises programs. */
  GatewaySettings with(ProgramReader reader) {
    return new GatewaySettings(
        scheme, usageInjection, keepAlive, forwarding, webSockets, reader, admission);
  }
}
