package io.kvasir.engines;

import java.util.List;

/**
 * Where an engine publishes its load: a PUB socket for each rank.
 *
 * @param endpoints of the ranks in their order, such as {@code tcp://engine:5558}; at least one
 * @param topic prefix of the messages' topic
 */
public record LoadFeed(List<String> endpoints, String topic) {
  /** Copies the list. */
  public LoadFeed {
    endpoints = List.copyOf(endpoints);
  }
}
