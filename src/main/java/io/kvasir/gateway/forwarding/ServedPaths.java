package io.kvasir.gateway.forwarding;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.http.ApiPath;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The paths of engines that clients may reach: those of inference, and those that the operator has added. Immutable.
 */
public final class ServedPaths {
  /** No paths but those of inference. */
  public static final ServedPaths INFERENCE = new ServedPaths(List.of());

  private static final String BELOW = "/*";

  private final Set<String> exact = new HashSet<>();
  /** Beginnings of paths, each with a slash at its end. */
  private final List<String> prefixes;

  /**
   * The paths of inference and others.
   *
   * @param added paths, each beginning with a slash; one that ends in {@code /*} stands for all below it
   */
  public ServedPaths(List<String> added) {
    prefixes = added.stream()
        .filter(path -> path.endsWith(BELOW))
        .map(path -> path.substring(0, path.length() - 1))
        .toList();
    added.stream().filter(path -> !path.endsWith(BELOW)).forEach(exact::add);
  }

  /** The API at a path, which has no query; null when clients may not reach it. */
  public @Nullable ApiPath at(String path) {
    ApiPath api = ApiPath.at(path);
    return api != null ? api
        : exact.contains(path) || prefixes.stream().anyMatch(path::startsWith) ? ApiPath.OTHER
        : null;
  }

  /** The error of a path that clients may not reach. */
  public static ApiError unknown(String path) {
    return ApiError.of(
        404,
        "unknown_path",
        ("There is nothing at %s. The APIs are under /v1, such as POST /v1/chat/completions; other paths of the engines"
            + " are served only if the operator lists them (kvasir.gateway.paths).").formatted(path));
  }
}
