package io.kvasir.picker;

import io.kvasir.gateway.request.ProxiedRequest;
import java.util.Set;

/**
 * Headers and metadata keys by which gateways, pickers and the sidecars of workers speak about endpoints. What a client
 * sends under the names of the requests' headers is removed: it could have the gateway or a sidecar connect to any
 * address.
 */
final class RoutingHeaders {
  /** The address that a request goes to: a header and a key of {@link #METADATA}. */
  static final String DESTINATION = "x-gateway-destination-endpoint";

  /** The address that has answered: a key of {@link #METADATA}. */
  static final String SERVED = "x-gateway-destination-endpoint-served";

  /** The addresses to choose from: a key of {@link #SUBSET_METADATA}. */
  static final String SUBSET = "x-gateway-destination-endpoint-subset";

  static final String METADATA = "envoy.lb";
  static final String SUBSET_METADATA = "envoy.lb.subset_hint";

  /** To a decode worker's sidecar: where the prompt is prefilled first. */
  static final String PREFILLER = "x-prefiller-host-port";

  /** To a worker's sidecar: where images and audio are encoded first. */
  static final String ENCODERS = "x-encoder-hosts-ports";

  /** To a worker's sidecar: the data-parallel rank that serves, by address. */
  static final String RANK_ADDRESS = "x-data-parallel-host-port";

  /** The data-parallel rank that serves. */
  static final String RANK = "x-data-parallel-rank";

  /** The priority of the request's objective. */
  static final String PRIORITY = ProxiedRequest.PRIORITY;

  /** The headers of requests that only the picker may set, in lower case. */
  static final Set<String> RESERVED =
      Set.of(
          DESTINATION, SERVED, SUBSET, PREFILLER, ENCODERS, RANK_ADDRESS, RANK, PRIORITY, "x-kv-cache-source-host-port",
          "x-gateway-destination-endpoint-scores");

  /** The header by which a client of conformance tests chooses its endpoint, and those that tell how it went. */
  static final String TEST_SELECTION = "test-epp-endpoint-selection";

  static final String TEST_SERVED = "x-conformance-test-served-endpoint";
  static final String TEST_SELECTED = "x-conformance-test-selected-endpoint";
  static final String TEST_POOL = "x-conformance-test-epp-pool";

  private RoutingHeaders() {}
}
