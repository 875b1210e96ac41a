package io.kvasir.engines;

import io.kvasir.engines.TransferDescription.Role;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The role that an engine's operator says it has, where it does not tell or tells another. Where it does not tell by
 * what it hands KV blocks over, that is taken to be what engines of its kind mostly have. Where it tells of nothing
 * that the router knows, the role is not taken, and what is not known says why.
 */
final class GivenRole {
  private static final String CONNECTOR = "connector";

  private final EngineDescription told;
  private final Role role;

  private GivenRole(EngineDescription told, Role role) {
    this.told = told;
    this.role = role;
  }

  /** What an engine told, with that role. */
  static EngineDescription taken(EngineDescription told, Role role) {
    return new GivenRole(told, role).taken();
  }

  private EngineDescription taken() {
    List<Unknown> left = new ArrayList<>(told.unknowns());
    boolean untold = left.removeIf(unknown -> unknown.what().equals(Unknown.ROLE_AND_CONNECTOR));
    left.removeIf(unknown -> unknown.what().equals(Unknown.ROLE));
    TransferDescription transfer = told.transfer() == null ? usual(untold) : told.transfer();
    EngineDescription divided = told.with(transfer == null ? null : transfer.as(role), left);
    if (KvHandover.of(divided).isEmpty()) {
      left.add(new Unknown(CONNECTOR, impossible(transfer)));
      return told.with(told.transfer(), left);
    }
    if (untold) {
      left.add(new Unknown(CONNECTOR, TransferDescription.NIXL
          + " is assumed: where its --kv-transfer-config has another, set kv-transfer of the pod."));
    }
    return told.with(divided.transfer(), left);
  }

  private @Nullable TransferDescription usual(boolean untold) {
    return switch (told.identity().kind()) {
      case VLLM, LLM_D_SIMULATOR ->
          untold ? new TransferDescription(TransferDescription.NIXL, null, null, null) : null;
      case TENSORRT_LLM -> new TransferDescription(TransferDescription.TRANSCEIVER, null, null, null);
      case SGLANG, LLAMA_CPP, DYNAMO, UNKNOWN -> null;
    };
  }

  /** Why it cannot have the role, and the remedy. */
  private String impossible(@Nullable TransferDescription transfer) {
    return switch (told.identity().kind()) {
      case VLLM, LLM_D_SIMULATOR -> transfer == null
          ? "Its configuration has none: start it with --kv-transfer-config, or leave out its role."
          : transfer.connector().equals(TransferDescription.NIXL_PUSH)
          ? "Its engine id, by which decode engines name it, is not told: set kv-transfer.dialect and"
              + " kv-transfer.engine-id of the pod. Until then it serves requests whole."
          : "Its " + transfer.connector() + " hands no KV blocks over that a router divides requests by: start it with"
              + " NixlConnector, NixlPushConnector or MooncakeConnector, or leave out its role. It serves requests"
              + " whole.";
      case SGLANG -> "It was started without --disaggregation-mode: set that to " + role.label()
          + ", or leave out its role. It serves requests whole.";
      case TENSORRT_LLM, LLAMA_CPP, DYNAMO, UNKNOWN ->
          "The router divides no requests between engines of its kind: leave out its role. It serves requests whole.";
    };
  }
}
