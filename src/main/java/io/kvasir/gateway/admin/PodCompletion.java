package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.PodSpec;
import java.io.IOException;
import java.net.URI;
import org.jspecify.annotations.Nullable;

/** Completes the description of a pod by what its engine tells. */
@FunctionalInterface
public interface PodCompletion {
  /**
   * A description that has been completed.
   *
   * @param description what was given, and beside it what was learnt, by the admin API's names
   * @param learnt what is to be remembered of that
   * @param load where the router will read its load, for people; it is not remembered, as it may change at any time
   */
  record Completed(ObjectNode description, PodSpec.Learnt learnt, String load) {}

  /**
   * Asks the engine, and waits for it. What is given wins.
   *
   * @param url the engine's
   * @param grpcPort vLLM's {@code --grpc-port}, null where none is given
   * @throws IOException when it does not answer, or serves no model; the message says why, and the remedy
   */
  Completed complete(ObjectNode given, URI url, @Nullable Integer grpcPort)
      throws IOException, InterruptedException;
}
