package io.kvasir.pools;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An inference pool: workers that serve what is sent to it. Immutable.
 *
 * @param namespace the namespace that its name is unique in
 * @param name its name there
 * @param selector the labels that its workers have; none for every worker
 * @param targetPorts the ports that its workers serve on; none for any
 * @param authorities hosts by which gateways call the picker for this pool, such as the name of its Service ({@code
 *     llama-picker.default}); one stands for those that continue it after a dot
 * @param models models whose requests are for this pool when nothing else tells
 * @param port the picker's listening port that is this pool's alone, 0 for none
 */
public record Pool(
    String namespace, String name, Map<String, String> selector, List<Integer> targetPorts, Set<String> authorities,
    Set<String> models, int port) {
  /**
   * The label by which discovery says to which pool a worker belongs; its value is an {@link #id}, or several with
   * commas between.
   */
  public static final String LABEL = "kvasir.io/pool";

  /** Copies what it is given. */
  public Pool {
    selector = Map.copyOf(selector);
    targetPorts = List.copyOf(targetPorts);
    authorities = Set.copyOf(authorities);
    models = Set.copyOf(models);
  }

  /** A pool that discovery has labelled the workers of. */
  public static Pool labelled(String namespace, String name, List<Integer> targetPorts, Set<String> authorities) {
    return new Pool(
        namespace, name, Map.of(LABEL, namespace + "/" + name), targetPorts, authorities, Set.of(), 0);
  }

  /** {@code namespace/name}. */
  public String id() {
    return namespace + "/" + name;
  }

  /** Whether a worker with these labels that serves on that port belongs to the pool. */
  public boolean has(Map<String, String> labels, int workerPort) {
    return (targetPorts.isEmpty() || targetPorts.contains(workerPort))
        && selector.entrySet().stream().allMatch(label -> matches(label, labels.get(label.getKey())));
  }

  private static boolean matches(Map.Entry<String, String> label, @Nullable String value) {
    return label.getValue().equals(value)
        || (label.getKey().equals(LABEL) && value != null && List.of(value.split(",", -1)).contains(label.getValue()));
  }

  /**
   * Whether a gateway that calls the picker by this authority means the pool.
   *
   * @param authority as HTTP/2 carries it: {@code host}, {@code host:port}, or Istio's name of a cluster, {@code
   *     outbound|9002||host}
   */
  public boolean isCalledBy(String authority) {
    String host = host(authority);
    for (String own : authorities) {
      String begin = own.toLowerCase(Locale.ROOT);
      if (host.equals(begin) || host.startsWith(begin + ".")) {
        return true;
      }
    }
    return false;
  }

  private static String host(String authority) {
    String name = authority.substring(authority.lastIndexOf('|') + 1).toLowerCase(Locale.ROOT);
    int colon = name.lastIndexOf(':');
    return colon > name.lastIndexOf(']') ? name.substring(0, colon) : name;
  }
}
