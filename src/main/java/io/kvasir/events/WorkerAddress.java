package io.kvasir.events;

import java.net.URI;

/**
 * A worker as event feeds find it.
 *
 * @param id the worker's id, unique in the fleet
 * @param pod the pod's name
 * @param url the pod's base URL
 * @param rank data-parallel rank, from 0
 * @param ranks how many ranks the pod has
 */
public record WorkerAddress(String id, String pod, URI url, int rank, int ranks) {
  /**
   * Replaces {@code {pod}}, {@code {rank}}, {@code {worker}}, {@code {host}} and {@code {address}} (host and port of
   * its URL) in a pattern.
   */
  public String expand(String pattern) {
    return pattern.indexOf('{') < 0 ? pattern
        : pattern.replace("{pod}", pod).replace("{rank}", Integer.toString(rank)).replace("{worker}", id)
            .replace("{host}", String.valueOf(url.getHost())).replace("{address}", String.valueOf(url.getAuthority()));
  }
}
