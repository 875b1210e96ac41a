package io.kvasir.sim.api;

import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.SimSettings;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The model and its adapters, by the names that requests have for them. Thread-safe. */
record ModelNames(SimSettings settings) {
  /** The adapter that the request names; null for the base model or when it names none. */
  @Nullable String lora(RequestBody body) throws EngineApiException {
    String name = body.text("model");
    String model = settings.model().name();
    List<String> loras = settings.model().loras();
    boolean sglang = settings.http().api() == EngineApi.SGLANG;
    if (name == null || name.isEmpty() || name.equals(model) || (sglang && loras.contains(name))) {
      return sglang ? body.text("lora_path") : null;
    }
    // By its name alone SGLang does not know an adapter.
    String adapter = !sglang ? name : name.startsWith(model + ":") ? name.substring(model.length() + 1) : "";
    if (loras.contains(adapter)) {
      return adapter;
    }
    throw EngineApiException.notFound("The model `" + name + "` does not exist.", "model");
  }

  /** The name that the answer has of it. */
  String name(RequestBody body) throws EngineApiException {
    String name = body.text("model");
    return name == null || name.isEmpty() ? settings.model().name() : name;
  }
}
