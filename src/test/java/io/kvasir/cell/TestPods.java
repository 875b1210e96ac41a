package io.kvasir.cell;

import io.kvasir.events.EventFeed;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.Role;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Pods of tests, of which a test says only what matters to it. */
public final class TestPods {
  /** An engine whose latency coefficients are known. */
  public static final String ENGINE = "h100-Qwen2.5-7B-tp1";

  private TestPods() {}

  /** An aggregated pod of one rank at {@code http://NAME.test} that serves "m", without events. */
  public static Builder pod(String name) {
    return new Builder(name);
  }

  /** What a pod is to be; each setting replaces the default. */
  public static final class Builder {
    private final String name;
    private URI url;
    private Role role = Role.BOTH;
    private Set<String> models = Set.of("m");
    private int ranks = 1;
    private int blockSize = 16;
    private Map<String, String> labels = Map.of();
    private int maxInFlight = 4;
    private String engine = ENGINE;
    private int capacityBlocks = 1000;
    private List<EventFeed> events = List.of();
    private @Nullable KvTransfer kvTransfer;

    private Builder(String name) {
      this.name = name;
      this.url = URI.create("http://" + name + ".test");
    }

    public Builder url(URI at) {
      url = at;
      return this;
    }

    public Builder role(Role only) {
      role = only;
      return this;
    }

    public Builder models(String... served) {
      return models(Set.of(served));
    }

    /** The first one of an ordered set is the base model. */
    public Builder models(Set<String> served) {
      models = served;
      return this;
    }

    public Builder ranks(int number) {
      ranks = number;
      return this;
    }

    public Builder blockSize(int tokens) {
      blockSize = tokens;
      return this;
    }

    public Builder labels(Map<String, String> all) {
      labels = all;
      return this;
    }

    public Builder maxInFlight(int requests) {
      maxInFlight = requests;
      return this;
    }

    public Builder engine(String coefficients) {
      engine = coefficients;
      return this;
    }

    public Builder capacityBlocks(int blocks) {
      capacityBlocks = blocks;
      return this;
    }

    public Builder events(List<EventFeed> feeds) {
      events = feeds;
      return this;
    }

    public Builder kvTransfer(@Nullable KvTransfer transfer) {
      kvTransfer = transfer;
      return this;
    }

    public PodSpec build() {
      return new PodSpec(
          name, url, role, models, labels,
          new PodSpec.Engine(engine, ranks, blockSize, maxInFlight, capacityBlocks), events, kvTransfer);
    }
  }
}
