# Gateside in a container: build with  docker build -t gateside .   run with  -v gateside:/data -v ./site.json:/etc/gateside/site.json
FROM node:22-bookworm-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends python3 make g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci
COPY . .
RUN npm run build

FROM node:22-bookworm-slim
COPY --from=build /src/dist /usr/lib/gateside
RUN install -d -o node -g node /data
USER node
ENV DATA_DIR=/data SITE_FILE=/etc/gateside/site.json NODE_ENV=production MALLOC_ARENA_MAX=1
VOLUME /data
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s CMD ["node", "-e", "const p=process.env.HTTP_PORT||'8080';p==='off'||fetch(`http://127.0.0.1:${p}/healthz`).then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
ENTRYPOINT ["node", "--max-semi-space-size=4", "--max-old-space-size=128", "--single-threaded-gc", "/usr/lib/gateside/gateside.js"]
CMD ["run"]
