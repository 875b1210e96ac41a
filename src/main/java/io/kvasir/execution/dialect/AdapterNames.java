package io.kvasir.execution.dialect;

import io.kvasir.http.ApiPath;
import io.kvasir.routing.Worker;
import org.jspecify.annotations.Nullable;

/**
 * The names of LoRA adapters as SGLang has them: a request that names an adapter alone is answered by the base model,
 * one that names {@code base:adapter} by the adapter (0.5.23, {@code entrypoints/openai/serving_base.py}). {@code
 * /v1/responses} takes none at all, and {@code /generate} has a member of its own for it, {@code lora_path}, instead of
 * a model.
 */
public final class AdapterNames {
  private static final String MODEL = "model";

  private AdapterNames() {}

  /**
   * A request to an SGLang with the name of its model as that has it; null when it is the same.
   *
   * @param model that is meant, by its own name
   */
  public static @Nullable EngineRequest withBase(Worker worker, String model, String target, byte[] body) {
    ClientRequest request = isAdapter(worker, model) ? ClientRequest.of(target, body) : null;
    return request == null || request.api() == ApiPath.GENERATE || !request.members().hasValue(MODEL)
        ? null
        : EngineRequest.of(request, withBase(worker, request.members()));
  }

  /** A body with the name of its model as SGLang has it. */
  static JsonMembers withBase(Worker worker, JsonMembers body) {
    String model = body.value(MODEL).asText();
    return isAdapter(worker, model) ? body.withText(MODEL, base(worker) + ":" + model) : body;
  }

  private static boolean isAdapter(Worker worker, String model) {
    return !model.equals(base(worker)) && worker.models().contains(model);
  }

  private static String base(Worker worker) {
    return worker.models().iterator().next();
  }
}
