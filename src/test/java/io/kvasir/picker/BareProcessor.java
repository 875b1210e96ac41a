package io.kvasir.picker;

import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.kvasir.picker.extproc.HttpBody;
import io.kvasir.picker.extproc.ProcessingRequest;
import io.kvasir.picker.extproc.ProcessingResponse;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * An external processor that reads nothing and decides nothing: each message is answered at once on its connection's
 * thread, bodies as they came, and requests go to endpoints in turn. What Envoy's protocol itself costs.
 */
final class BareProcessor implements AutoCloseable {
  private final List<String> endpoints;
  private final AtomicInteger next = new AtomicInteger();
  private final Server server;

  BareProcessor(List<Integer> enginePorts) throws IOException {
    this.endpoints = enginePorts.stream().map(port -> "127.0.0.1:" + port).toList();
    ServerCallHandler<ProcessingRequest, ProcessingResponse> streams = (call, _) -> new Echo(call);
    this.server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .directExecutor()
            .addService(
                ServerServiceDefinition.builder(ProcessMethod.SERVICE)
                    .addMethod(ProcessMethod.DESCRIPTOR, streams)
                    .build())
            .build()
            .start();
  }

  int port() {
    return server.getPort();
  }

  private final class Echo extends ServerCall.Listener<ProcessingRequest> {
    private final ServerCall<ProcessingRequest, ProcessingResponse> call;

    Echo(ServerCall<ProcessingRequest, ProcessingResponse> call) {
      this.call = call;
      call.sendHeaders(new Metadata());
      call.request(Integer.MAX_VALUE);
    }

    @Override
    public void onMessage(ProcessingRequest message) {
      if (message.hasRequestHeaders()) {
        String endpoint = endpoints.get(Math.floorMod(next.getAndIncrement(), endpoints.size()));
        HeaderChanges changes = new HeaderChanges();
        changes.set(RoutingHeaders.DESTINATION, endpoint);
        call.sendMessage(Replies.requestHead(changes, endpoint));
      } else if (message.hasRequestBody()) {
        HttpBody body = message.getRequestBody();
        call.sendMessage(Replies.requestPiece(body.getBody(), body.getEndOfStream()));
      } else if (message.hasResponseHeaders()) {
        call.sendMessage(Replies.responseHead(new HeaderChanges()));
      } else if (message.hasResponseBody()) {
        HttpBody body = message.getResponseBody();
        call.sendMessage(Replies.responsePiece(body.getBody(), body.getEndOfStream()));
      }
    }

    @Override
    public void onHalfClose() {
      call.close(Status.OK, new Metadata());
    }
  }

  @Override
  public void close() {
    server.shutdownNow();
  }
}
