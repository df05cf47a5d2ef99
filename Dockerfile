# Gateside in a container: build with  docker build -t gateside .   run with  -v gateside:/data -v ./site.json:/etc/gateside/site.json
FROM node:24-bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build

FROM node:24-bookworm-slim
COPY --from=build /src/dist /usr/lib/gateside
COPY packaging/container/health.mjs /usr/lib/gateside/health.mjs
# The path that the package and scripts/container.sh have, so that one compose file fits both images.
RUN ln -s /usr/local/bin/node /usr/lib/gateside/node && install -d -o node -g 0 -m 0770 /data
USER node
ENV DATA_DIR=/data SITE_FILE=/etc/gateside/site.json NODE_ENV=production MALLOC_ARENA_MAX=1
VOLUME /data
STOPSIGNAL SIGTERM
# For the agent and for a collector, whatever port, address and certificate they have.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["/usr/lib/gateside/node", "/usr/lib/gateside/health.mjs"]
ENTRYPOINT ["/usr/lib/gateside/node", "--max-semi-space-size=4", "--max-old-space-size=128", "--single-threaded-gc", "--no-separate-gc-phases", "/usr/lib/gateside/launch.js"]
CMD ["run"]
