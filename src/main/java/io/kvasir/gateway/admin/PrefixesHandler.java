package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Cells;
import io.kvasir.cell.FleetDescription;
import io.kvasir.cell.HeldPrefixes;
import io.kvasir.gateway.traffic.SampledChains;
import io.kvasir.gateway.traffic.SampledChains.Sample;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeSet;

/**
 * {@code /admin/prefixes}: what prompts for a model begin with, of a sample of this node's requests, and how many
 * workers of the whole fleet hold it now. Hashes, never text. Thread-safe.
 */
public final class PrefixesHandler implements AdminResource {
  private static final int RUNS = 200;
  private static final int MOST_RUNS = 1000;

  private final SampledChains chains;
  private final Cells cells;
  private final FleetDescription fleet;

  /** Over a gateway's samples and the fleet. */
  public PrefixesHandler(SampledChains chains, Cells cells, FleetDescription fleet) {
    this.chains = chains;
    this.cells = cells;
    this.fleet = fleet;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get("/admin/prefixes", this::prefixes).with("model", "limit"));
  }

  private AdminResponse prefixes(AdminRequest request) throws AdminException {
    String model = model(request);
    int limit = request.limit(RUNS, MOST_RUNS);
    List<Sample> samples = chains.of(model);
    ObjectNode body = object().put("scope", "node").put("model", model);
    if (samples.isEmpty()) {
      body.putNull("block_size").put("sampled_requests", 0).putArray("missing_cells");
      body.putArray("roots");
      return AdminResponse.ok(body);
    }
    // After a change of the configuration the earlier ones have nothing in common with the later ones.
    int blockSize = samples.getLast().chain().blockSize();
    List<Sample> comparable = samples.stream().filter(sample -> sample.chain().blockSize() == blockSize).toList();
    PrefixTree tree = new PrefixTree(comparable, limit);
    HeldPrefixes held = fleet.heldPrefixes(model, tree.paths());
    body.put("block_size", blockSize).put("sampled_requests", comparable.size());
    held.missingCells().forEach(body.putArray("missing_cells")::add);
    put(body.putArray("roots"), tree.roots(), blockSize, held);
    return AdminResponse.ok(body);
  }

  private String model(AdminRequest request) throws AdminException {
    TreeSet<String> models = new TreeSet<>(cells.models());
    String model = request.parameter("model");
    if (model == null) {
      if (models.size() == 1) {
        return models.getFirst();
      }
      throw AdminException.invalid(
          "model",
          models.isEmpty() ? "no worker serves any model yet" : "name one of the models " + String.join(", ", models));
    }
    if (!models.contains(model)) {
      throw AdminException.of(404, "no worker serves the model '%s'".formatted(model));
    }
    return model;
  }

  private static void put(ArrayNode into, List<PrefixTree.Run> runs, int blockSize, HeldPrefixes held) {
    for (PrefixTree.Run run : runs) {
      ObjectNode entry =
          into.addObject()
              .put("hash", HexFormat.of().toHexDigits(run.hash()))
              .put("blocks", run.blocks())
              .put("tokens", run.blocks() * blockSize)
              .put("requests", run.requests())
              .put("holders", held.holders(run.path(), run.depth()))
              .put("last_used", Instant.ofEpochMilli(run.lastUsedMillis()).toString())
              .put("tenant", run.tenant());
      put(entry.putArray("children"), run.children(), blockSize, held);
    }
  }
}
