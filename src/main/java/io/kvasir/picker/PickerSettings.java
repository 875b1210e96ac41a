package io.kvasir.picker;

import io.grpc.netty.shaded.io.netty.util.internal.PlatformDependent;
import io.kvasir.http.TlsFiles;
import io.kvasir.pools.PoolSet;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Settings of the endpoint picker. Immutable.
 *
 * @param listener where gateways reach it
 * @param limits what bodies may take
 * @param keys whether requests need the keys that the node asks for
 * @param fallbacks further addresses that a gateway is given with the chosen one, 0 for none
 * @param earlyClose whether a stream ends as soon as the request is on its way, and not with the answer
 * @param unseenBooking how long a request counts as load whose answer the picker does not see
 * @param conformance whether a client may choose its endpoint, as conformance tests do
 * @param pools the pools of the configuration
 */
public record PickerSettings(
    Listener listener, Limits limits, boolean keys, int fallbacks, boolean earlyClose, Duration unseenBooking,
    boolean conformance, PoolSet pools) {
  /**
   * Where gateways reach the picker.
   *
   * @param host the address to listen on
   * @param port for gateways; 0 for any that is free
   * @param healthPort for probes in plain text; 0 for any that is free
   * @param secure whether {@code port} speaks TLS
   * @param tls its certificate; null for one that is made at the start
   */
  public record Listener(String host, int port, int healthPort, boolean secure, @Nullable TlsFiles tls) {}

  /**
   * What bodies of requests may take.
   *
   * @param maxBodyBytes the longest body
   * @param memoryBytes all bodies at once, with what is read from them
   * @param messageBytes all messages at once that have come in part, in Netty's memory
   */
  public record Limits(int maxBodyBytes, long memoryBytes, long messageBytes) {
    /** Limits that leave messages half of the memory that Netty has outside of the heap. */
    public static Limits of(int maxBodyBytes, long memoryBytes) {
      return new Limits(maxBodyBytes, memoryBytes, PlatformDependent.maxDirectMemory() / 2);
    }
  }
}
