/**
 * What of the requests' traffic is kept in sum, for metrics and for administrators: by tenant ({@link
 * io.kvasir.gateway.traffic.TenantTraffic}), and a sample of the prompts' blocks ({@link
 * io.kvasir.gateway.traffic.SampledChains}). Requests are noted as they begin and as they end.
 */
@NullMarked
package io.kvasir.gateway.traffic;

import org.jspecify.annotations.NullMarked;
