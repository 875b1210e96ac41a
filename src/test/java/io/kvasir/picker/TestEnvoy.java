package io.kvasir.picker;

import io.kvasir.Await;
import io.kvasir.load.Ports;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * A real Envoy with a listener for each way in which gateways use a picker. Each listener has its name as the authority
 * by which it is called.
 */
final class TestEnvoy implements AutoCloseable {
  /** How a gateway gets to the endpoint that the picker has named. */
  enum Destination {
    /** A cluster that dials what the header says. */
    HEADER,
    /** A cluster of known endpoints that goes by the metadata, and round robin without. */
    METADATA
  }

  /**
   * A listener.
   *
   * @param pickers ports of its pickers; none for a gateway without
   * @param bodies the mode of both bodies
   */
  record Listener(List<Integer> pickers, boolean tls, String bodies, Destination destination) {}

  private final Map<String, Listener> listeners = new LinkedHashMap<>();
  private final Map<String, Integer> ports = new LinkedHashMap<>();
  private final List<Integer> endpoints;
  private final Process process;
  private final Path log;

  /**
   * Starts Envoy.
   *
   * @param endpoints ports of the endpoints that the {@link Destination#METADATA} clusters know
   */
  TestEnvoy(Path directory, Map<String, Listener> listeners, List<Integer> endpoints)
      throws IOException, InterruptedException {
    this.endpoints = endpoints;
    this.listeners.putAll(listeners);
    Path binary = EnvoyBinary.get();
    for (String name : listeners.keySet()) {
      ports.put(name, Ports.free());
    }
    Path config = directory.resolve("envoy.yaml");
    Files.writeString(config, config());
    log = directory.resolve("envoy.log");
    process =
        new ProcessBuilder(
                binary.toString(), "-c", config.toString(), "--concurrency", "1", "--use-dynamic-base-id", "-l", "warn")
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    Await.await("Envoy's start", this::listens);
  }

  private boolean listens() throws IOException {
    if (!process.isAlive()) {
      throw new AssertionError("Envoy has ended: " + Files.readString(log));
    }
    for (int port : ports.values()) {
      try (Socket _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
        // It does.
      } catch (IOException notYet) {
        return false;
      }
    }
    return true;
  }

  /** The port of a listener. */
  int port(String listener) {
    return Objects.requireNonNull(ports.get(listener));
  }

  String log() throws IOException {
    return Files.readString(log);
  }

  private String config() {
    List<String> clusters = new ArrayList<>();
    List<String> all = new ArrayList<>();
    listeners.forEach((name, listener) -> {
      all.add(listener(name, listener));
      if (!listener.pickers().isEmpty()) {
        clusters.add(pickers(name, listener));
      }
    });
    clusters.add(
        """
          - name: HEADER
            type: ORIGINAL_DST
            lb_policy: CLUSTER_PROVIDED
            connect_timeout: 1s
            original_dst_lb_config: {use_http_header: true, http_header_name: x-gateway-destination-endpoint}
        """);
    clusters.add(
        """
          - name: METADATA
            type: STATIC
            connect_timeout: 1s
            load_balancing_policy:
              policies:
              - typed_extension_config:
                  name: envoy.load_balancing_policies.override_host
                  typed_config:
                    "@type": type.googleapis.com/envoy.extensions.load_balancing_policies.override_host.v3.OverrideHost
                    override_host_sources:
                    - metadata: {key: envoy.lb, path: [{key: x-gateway-destination-endpoint}]}
                    selected_host_key: {key: envoy.lb, path: [{key: x-gateway-destination-endpoint-served}]}
                    fallback_policy:
                      policies:
                      - typed_extension_config:
                          name: envoy.load_balancing_policies.round_robin
                          typed_config:
                            "@type": TYPES/envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin
            load_assignment: {cluster_name: METADATA, endpoints: [{lb_endpoints: [%s]}]}
        """.formatted(endpoints(endpoints)));
    return """
        static_resources:
          listeners:
        %s
          clusters:
        %s
        """.formatted(String.join("", all), String.join("", clusters))
        .replace("NETWORK_FILTERS", "TYPES/envoy.extensions.filters.network")
        .replace("TYPES", "type.googleapis.com");
  }

  private static String endpoints(List<Integer> ports) {
    return ports.stream()
        .map(port -> "{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: " + port + "}}}}")
        .collect(Collectors.joining(", "));
  }

  private static String pickers(String name, Listener listener) {
    String tls =
        listener.tls()
            ? """
                  transport_socket:
                    name: envoy.transport_sockets.tls
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
              """
            : "";
    return """
          - name: picker-%s
            type: STATIC
            connect_timeout: 1s
            lb_policy: ROUND_ROBIN
            # Without it what a stalled machine made seem dead, and the recovery, would count up to a second late.
            common_lb_config: {update_merge_window: 0s}
            health_checks:
            - timeout: 1s
              interval: 0.1s
              no_traffic_interval: 0.1s
              unhealthy_threshold: 1
              healthy_threshold: 1
              grpc_health_check: {service_name: envoy.service.ext_proc.v3.ExternalProcessor}
            outlier_detection:
              split_external_local_origin_errors: true
              consecutive_local_origin_failure: 1
              max_ejection_percent: 50
            typed_extension_protocol_options:
              envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
                "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
                explicit_http_config: {http2_protocol_options: {}}
            load_assignment: {cluster_name: picker-%s, endpoints: [{lb_endpoints: [%s]}]}
        %s""".formatted(name, name, endpoints(listener.pickers()), tls);
  }

  private static String filter(String name, Listener listener) {
    return """
                  - name: picker
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor
                      grpc_service:
                        envoy_grpc: {cluster_name: picker-%1$s, authority: %1$s}
                        timeout: 60s
                        retry_policy: {retry_on: "connect-failure,reset-before-request", num_retries: 3}
                      message_timeout: 10s
                      processing_mode:
                        request_header_mode: SEND
                        response_header_mode: SEND
                        request_body_mode: %2$s
                        response_body_mode: %2$s
                        request_trailer_mode: %3$s
                        response_trailer_mode: %3$s
                      metadata_options:
                        forwarding_namespaces: {untyped: [envoy.lb, envoy.lb.subset_hint]}
                        receiving_namespaces: {untyped: [envoy.lb]}
        """.formatted(
            name, listener.bodies(), listener.bodies().equals("FULL_DUPLEX_STREAMED") ? "SEND" : "SKIP");
  }

  private String listener(String name, Listener listener) {
    return """
          - name: %1$s
            address: {socket_address: {address: 127.0.0.1, port_value: %2$d}}
            filter_chains:
            - filters:
              - name: envoy.filters.network.http_connection_manager
                typed_config:
                  "@type": NETWORK_FILTERS.http_connection_manager.v3.HttpConnectionManager
                  stat_prefix: %1$s
                  generate_request_id: true
                  route_config:
                    virtual_hosts:
                    - name: all
                      domains: ["*"]
                      routes:
                      - match: {prefix: /}
                        route:
                          cluster: %3$s
                          timeout: 60s
                          retry_policy: {retry_on: "connect-failure,reset-before-request", num_retries: 2}
                  http_filters:
                  - name: subset
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.header_to_metadata.v3.Config
                      request_rules:
                      - header: x-test-subset
                        remove: true
                        on_header_present:
                          metadata_namespace: envoy.lb.subset_hint
                          key: x-gateway-destination-endpoint-subset
                          type: STRING
                  #FILTER
                  - name: router
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
        """.formatted(name, ports.get(name), listener.destination())
        .replace("          #FILTER\n", listener.pickers().isEmpty() ? "" : filter(name, listener));
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
